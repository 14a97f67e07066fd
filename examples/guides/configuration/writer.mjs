export default (message) => `You asked: ${message.parts.map(({ text }) => text).join(' ')}`
