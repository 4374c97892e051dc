import { type Fields, isObject } from '../../lib/is-object.ts'

/** The reasoning in a message or a delta, under whichever name; servers that send it under two send the same words twice. */
export function reasoningTextOf({ reasoning_content, reasoning, reasoning_details }: Fields): string {
  const plain = textOf(reasoning_content) || textOf(reasoning)
  if (plain !== '' || !Array.isArray(reasoning_details)) return plain
  return reasoning_details
    .filter(isObject)
    .map(({ text, summary }) => textOf(text) + textOf(summary))
    .join('')
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
