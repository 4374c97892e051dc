import { type Fields, isObject } from '../lib/is-object.ts'
import { scanJson } from './json/scan-json.ts'
import { tryParse } from './json/try-parse.ts'
import type { CallItem } from './pair-results.ts'

/**
 * The arguments of a past call, for a server that takes an object only. What is none is shown as it stands, because refusing
 * it would end the conversation; the input of a custom tool is put where `custom-as-function.ts` has it.
 */
export function argumentsObject({ tool, text }: Pick<CallItem, 'tool' | 'text'>): Fields {
  if (tool === 'custom') return { input: text }
  if (text.trim() === '') return {}
  const value = canBeWritten(text) ? tryParse(text) : undefined
  return isObject(value) ? value : { _raw: text }
}

/** As deep as nobody writes by hand, and as what is written again by a function that calls itself still can be. */
const BOUNDS = { depthMax: 500, valuesMax: 10_000_000 }

const canBeWritten = (text: string): boolean => scanJson(Buffer.from(text), BOUNDS).kind === 'scanned'
