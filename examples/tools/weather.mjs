/** Tools for a model of a file. What `defineTool` of 'corral/agents' makes may stand here too. */

export const weather = {
  name: 'weather',
  description: 'The weather in a city',
  input: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }) => ({ city, sky: 'clear' }),
}

export const warn = {
  name: 'warn',
  description: 'Warns everybody in a city of a storm',
  input: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }) => `Everybody in ${city} has been warned`,
}
