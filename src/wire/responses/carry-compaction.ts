import type { Fields } from '../../lib/is-object.ts'
import type { Compacted } from '../../model/compaction.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import type { CompactionReader } from '../event-reader.ts'
import type { MintIds } from '../mint-ids.ts'
import { DONE_FRAME } from '../sse/frame-data.ts'
import { framedSummary } from '../summary.ts'
import { type Carrier, type CompactedSize, NOTHING_CARRIED } from '../voice.ts'
import { keptItems } from './after-compaction.ts'
import type { Framing } from './framing.ts'
import type { ResponseOptions, ResponseState } from './response-object.ts'
import type { Sealing } from './write-item.ts'
import { writeUsage } from './write-usage.ts'

/** What of a voice it takes to tell of a conversation that was made short. */
interface CompactionSpeaker {
  readonly options: CompactionMeans & Pick<ResponseOptions, 'responseId' | 'createdAt'>
  readonly framing: Framing
  /** What is said from here on is said once, however often it is worked out. */
  beginEnd(): void
  /** The response as it stands at its end. */
  finish(state: Pick<ResponseState, 'status' | 'output' | 'usage'>): ResponseState
}

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
      return NOTHING_CARRIED
    },
    readAlike: () => undefined,
    compactedSize: () => outputOnce().size,
    close: (settled) => Buffer.from(close(speaker, outputOnce(), settled)),
  }
}

function close(speaker: CompactionSpeaker, output: CompactedOutput, settled: SettledCharge): string {
  const { options, framing } = speaker
  const usage = writeUsage(settled)
  if (options.request.compacts === 'at-endpoint') return compactionJson(options, output, usage)
  const isStream = options.request.delivery === 'stream'
  if (isStream) speaker.beginEnd()
  const state = speaker.finish({ status: 'completed', output: output.items, usage })
  if (!isStream) return framing.responseJson(state)
  const opening = framing.opening() + framesOf(framing, output)
  return opening + framing.responseFrame('response.completed', state) + DONE_FRAME.toString()
}

/** One item, without the words that other items grow by. */
const framesOf = (framing: Framing, { items }: CompactedOutput): string =>
  ['response.output_item.added', 'response.output_item.done']
    .map((type) => framing.frame(type, { output_index: 0, item: items.at(-1) }))
    .join('')

/** The answer of the endpoint is an object of its own. */
const compactionJson = (
  { responseId, createdAt }: CompactionSpeaker['options'],
  { items }: CompactedOutput,
  usage: Fields,
): string =>
  JSON.stringify({ id: responseId, object: 'response.compaction', created_at: createdAt, output: items, usage })

/** What stands in the place of a conversation from now on. */
interface CompactedOutput {
  /** All of it: the sealed item, which is the last, and at the endpoint what stays beside it. */
  readonly items: readonly [...Fields[], Fields]
  readonly size: CompactedSize
}

interface CompactionMeans extends Pick<Sealing, 'sealCompaction'> {
  readonly request: ResponsesRequest
  readonly mint: MintIds
}

function compactedOutput({ request, mint, sealCompaction }: CompactionMeans, compacted: Compacted): CompactedOutput {
  const kept = request.compacts === 'at-endpoint' ? keptItems(request, mint) : []
  const item = { id: mint.itemId('cmp'), type: 'compaction', encrypted_content: sealCompaction(compacted) }
  const keptBytes = kept.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message.content)), 0)
  const summaryBytes = compacted.kind === 'summary' ? Buffer.byteLength(framedSummary(compacted.text)) : 0
  return {
    items: [...kept, item],
    size: { bytes: keptBytes + summaryBytes, hasSealed: compacted.kind === 'native' },
  }
}
