import { type Fields, isObject } from '../../lib/is-object.ts'
import { saidBy } from './said-words.ts'

/**
 * Joins an answer that a server splits into several choices. Copilot puts Claude's text into the first choice and its tool calls
 * into the second, and both end with `tool_calls`: nanobot issue 1555.
 */
export function joinChoices(choices: readonly unknown[], under: 'delta' | 'message'): readonly unknown[] {
  const parts = choices.filter(isObject)
  const [first, ...others] = parts
  if (first === undefined) return choices
  if (others.length === 0) return first.index === 0 ? choices : [{ ...first, index: 0 }]
  const said = parts.map(saidBy)
  const texts = said.flatMap(({ content }) => (typeof content === 'string' ? [content] : []))
  const calls = said.flatMap(({ tool_calls: part }) => (Array.isArray(part) ? part : []))
  const ends = parts.flatMap(({ finish_reason: reason }) => (typeof reason === 'string' ? [reason] : []))
  const joined: Fields = {
    ...Object.assign({}, ...said.toReversed()),
    content: texts.length === 0 ? null : texts.join(''),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  const finish = ends.find((reason) => reason === 'tool_calls') ?? ends[0] ?? null
  return [{ ...first, index: 0, [under]: joined, finish_reason: finish }]
}
