import { type Fields, isObject } from '../../../src/lib/types.ts'
import {
  type Answer,
  Broken,
  type Counts,
  checkedCalls,
  countIn,
  exactJson,
  type Finish,
  type FunctionCall,
  fieldsOf,
  jsonOfExact,
  listOf,
  textOf,
} from './answer.ts'
import { checkNoError, type WireFrames } from './wire-frames.ts'

const FINISHES: Readonly<Record<string, Finish>> = { STOP: 'stop', MAX_TOKENS: 'length', SAFETY: 'content-filter' }
const FAILURES = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MALFORMED_RESPONSE',
])

/** What a client hears that reads chunks of generateContent by the book; their arguments with every digit. */
export function parseGeminiStream({ frames, doubts }: WireFrames): Answer {
  let text = ''
  let reasoning = ''
  let stop: string | undefined
  let goesOn = false
  let counts: Counts | undefined
  const calls: FunctionCall[] = []
  for (const { emitted, json } of frames) {
    checkNoError(emitted.error)
    const candidate = firstOf(emitted)
    const exact = partsOf(firstOf(fieldsOf(exactJson(json)), 'number 0'))
    for (const [at, part] of partsOf(candidate).entries()) {
      const words = textOf(part.text)
      if (stop !== undefined && (words !== '' || isObject(part.functionCall))) {
        doubts.add('words behind the end')
        goesOn = true
      }
      if (isObject(part.functionCall)) calls.push(callOf(fieldsOf(exact[at]?.functionCall)))
      else if (part.thought === true) reasoning += words
      else text += words
    }
    const reason = textOf(candidate?.finishReason)
    if (FAILURES.has(reason)) throw new Broken(`an end for ${reason}`)
    if (goesOn && reason !== '') stop = reason
    if (reason !== '') goesOn = false
    stop ??= reason || (candidate === undefined ? blockOf(emitted) : undefined)
    if (isObject(emitted.usageMetadata)) counts = stop === undefined ? undefined : countsOf(emitted.usageMetadata)
  }
  if (stop === undefined) throw new Broken('no end')
  const finish = FINISHES[stop] ?? 'stop'
  const word = finish === 'stop' && calls.length > 0 ? 'tool-calls' : finish
  return {
    choices: [{ text, refusal: '', reasoning: [reasoning], calls: checkedCalls(calls, word), finish: word }],
    counts,
  }
}

const firstOf = ({ candidates }: Fields, first: unknown = 0): Fields | undefined =>
  listOf(candidates)
    .filter(isObject)
    .find(({ index }, at) => (index === undefined ? at === 0 : index === first))

const partsOf = (candidate: Fields | undefined): Fields[] => listOf(fieldsOf(candidate?.content).parts).filter(isObject)

const callOf = ({ name, args = {} }: Fields): FunctionCall => ({
  tool: 'function',
  name: textOf(name),
  words: typeof args === 'string' ? args : jsonOfExact(args),
})

const blockOf = ({ promptFeedback }: Fields): string | undefined =>
  textOf(fieldsOf(promptFeedback).blockReason) === '' ? undefined : 'SAFETY'

function countsOf(usage: Fields): Counts {
  const thought = countIn(usage, 'thoughtsTokenCount')
  return {
    input: countIn(usage, 'promptTokenCount'),
    cached: countIn(usage, 'cachedContentTokenCount'),
    output: countIn(usage, 'candidatesTokenCount') + thought,
    thought,
  }
}
