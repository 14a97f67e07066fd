// #region tone
/** Takes the shouting out of an answer. */
export default ({ text }) =>
  text.includes('!!')
    ? { verdict: 'replace', text: text.replaceAll('!!', '.') }
    : { verdict: 'allow' }
// #endregion
