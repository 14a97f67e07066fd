export default ({ parts }) => `Once upon a time there were ${parts[0].text}.`
