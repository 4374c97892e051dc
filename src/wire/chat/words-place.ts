import { type Fields, isObject } from '../../lib/is-object.ts'
import { findGaps, type WordsPlace } from '../sse/words-pattern.ts'

/** A chunk with one kind of words in its one choice, and with no calls, of which more has to be known than their words. */
export const WORDS_PLACE: WordsPlace = {
  gaps: findGaps(['content', 'refusal', 'reasoning_content', 'reasoning']),
  wordsOf({ choices }) {
    const [choice, ...others] = Array.isArray(choices) ? choices : []
    if (others.length > 0 || !isObject(choice) || !isObject(choice.delta)) return undefined
    const isOver = choice.finish_reason !== null && choice.finish_reason !== undefined
    return isOver || hasMoreThanWords(choice.delta) ? undefined : onlyWords(choice.delta)
  },
}

const hasMoreThanWords = ({ tool_calls, function_call, content, reasoning_details }: Fields): boolean =>
  isObject(function_call) ||
  Array.isArray(content) ||
  Array.isArray(reasoning_details) ||
  (Array.isArray(tool_calls) && tool_calls.length > 0)

function onlyWords({ content, refusal, reasoning_content, reasoning }: Fields): string | undefined {
  const [words, ...others] = [content, refusal, reasoning_content, reasoning].filter(
    (said) => typeof said === 'string' && said !== '',
  )
  return others.length === 0 ? (words as string | undefined) : undefined
}
