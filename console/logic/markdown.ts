import dompurify from 'dompurify'
import { Marked } from 'marked'

/** HTML within markdown is shown as the text that it is: agents write markdown, and strangers write HTML. */
const marked = new Marked({
  gfm: true,
  renderer: { html: ({ text }) => escaped(text) },
})

/** The blocks of a markdown text, each as its source: while a text grows, only the last ones change. */
export function toBlocks(text: string): readonly string[] {
  return marked
    .lexer(text)
    .filter(({ type }) => type !== 'space')
    .map(({ raw }) => raw)
}

/** Markdown as safe HTML: no forms, pictures, styles or scripts; links open elsewhere and tell nobody whence. */
export function markdownToHtml(markdown: string): string {
  const html = marked.parse(markdown, { async: false })
  return dompurify.sanitize(html, {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ['form', 'input', 'button', 'select', 'textarea', 'img', 'picture', 'video'],
    FORBID_ATTR: ['style', 'id', 'name', 'class'],
    ADD_ATTR: ['target'],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  })
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

dompurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return
  node.setAttribute('target', '_blank')
  node.setAttribute('rel', 'noopener noreferrer nofollow')
})
