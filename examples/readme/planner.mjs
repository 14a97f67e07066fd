export default ({ parts }) => `a map, a storm and ${parts[0].text}`
