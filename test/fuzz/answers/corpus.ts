import type { Script } from './compose-script.ts'

/** An answer of a provider that is kept, without what had been asked: `--seed` and `--only` repeat that while the grammar stays. */
interface Entry extends Omit<Script, 'inputs' | 'bytes' | 'pieces' | 'number'> {
  readonly name: string
  /** Base64. */
  readonly bytes: string
  /** How long each piece is. */
  readonly lengths: readonly number[]
}

export function entryOfScript(name: string, { inputs: _, number: __, bytes, pieces, ...script }: Script): Entry {
  return { name, ...script, bytes: bytes.toString('base64'), lengths: pieces.map(({ length }) => length) }
}

const NO_INPUTS = { turns: [], schema: { type: 'object' }, cap: undefined, words: [], checks: [] }

export function scriptOfEntry({ name: _, bytes: text, lengths, ...script }: Entry, number: number): Script {
  const bytes = Buffer.from(text, 'base64')
  let at = 0
  const pieces = lengths.map((length) => {
    at += length
    return bytes.subarray(at - length, at)
  })
  return { ...script, number, inputs: NO_INPUTS, bytes, pieces }
}
