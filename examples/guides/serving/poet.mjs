import { textOf } from 'corral'

export default async function* poet({ parts }) {
  for (const word of ['Roses ', 'are ', 'red, ', textOf(parts)]) yield word
}
