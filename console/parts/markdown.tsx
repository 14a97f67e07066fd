import { memo } from 'preact/compat'
import { markdownToHtml, toBlocks } from '../logic/markdown.ts'

/** A text in markdown, drawn block by block: a block that stays the same is not drawn again. */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <div class="prose">
      {toBlocks(text).map((raw, i) => (
        <Block key={i} raw={raw} />
      ))}
    </div>
  )
}

const Block = memo(function MarkdownBlock({ raw }: { readonly raw: string }) {
  return <div dangerouslySetInnerHTML={{ __html: markdownToHtml(raw) }} />
})
