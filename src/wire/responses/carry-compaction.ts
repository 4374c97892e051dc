import type { Fields } from '../../lib/is-object.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { CarriedFrame, Carrier } from '../carrier.ts'
import type { CompactionReader } from '../compaction-reader.ts'
import { DONE_FRAME } from '../sse/format-frame.ts'
import { type CompactedOutput, type CompactionMeans, compactedOutput } from './compacted-output.ts'
import type { Framing } from './framing.ts'
import type { ResponseOptions, ResponseState } from './response-object.ts'
import { writeUsage } from './write-usage.ts'

/** What of a voice it takes to tell of a conversation that was made short. */
export interface CompactionSpeaker {
  readonly options: CompactionMeans & Pick<ResponseOptions, 'responseId' | 'createdAt'>
  readonly framing: Framing
  /** What is said from here on is said once, however often it is worked out. */
  beginEnd(): void
  /** The response as it stands at its end. */
  finish(state: Pick<ResponseState, 'status' | 'output' | 'usage'>): ResponseState
}

const NOTHING_YET: CarriedFrame = { bytes: undefined, isContent: false }

/** Nothing is told of it before the whole is there: until then another lane may be tried. */
export function carryCompaction(reader: CompactionReader, speaker: CompactionSpeaker): Carrier {
  let output: CompactedOutput | undefined
  const outputOnce = () => {
    output ??= compactedOutput(speaker.options, reader.compacted())
    return output
  }
  return {
    heard: reader.heard,
    read(frame) {
      reader.read(frame)
      return NOTHING_YET
    },
    readAlike: () => undefined,
    compactedSize: () => outputOnce().size,
    close: (settled) => Buffer.from(close(speaker, outputOnce(), settled)),
  }
}

function close(speaker: CompactionSpeaker, output: CompactedOutput, settled: SettledCharge): string {
  const { options, framing } = speaker
  const usage = writeUsage(settled)
  if (options.turn.compacts === 'at-endpoint') return compactionJson(options, output, usage)
  const isStream = options.turn.delivery === 'stream'
  if (isStream) speaker.beginEnd()
  const state = speaker.finish({ status: 'completed', output: output.items, usage })
  if (!isStream) return framing.responseJson(state)
  const opening = framing.openingText() + framesOf(framing, output)
  return opening + framing.responseText('response.completed', state) + DONE_FRAME.toString()
}

/** One item, without the words that other items grow by. */
const framesOf = (framing: Framing, { items }: CompactedOutput): string =>
  ['response.output_item.added', 'response.output_item.done']
    .map((type) => framing.frameText(type, { output_index: 0, item: items.at(-1) }))
    .join('')

/** The answer of the endpoint is an object of its own. */
const compactionJson = (
  { responseId, createdAt }: CompactionSpeaker['options'],
  { items }: CompactedOutput,
  usage: Fields,
): string =>
  JSON.stringify({ id: responseId, object: 'response.compaction', created_at: createdAt, output: items, usage })
