import type { Compacted } from '../../model/compaction.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import type { CompactionReader } from '../event-reader.ts'
import type { Heard } from '../heard.ts'
import { jsonArray } from '../json/array-elements.ts'
import { writtenMember } from '../json/members.ts'
import { inputElements } from './input-elements.ts'
import { createStepReader } from './read-steps.ts'
import type { SpokenItem } from './spoken-item.ts'

/** Reads the answer of a provider that makes conversations short itself: one sealed item, and nothing else of use. */
interface NativeCompactionReader extends CompactionReader {
  /** The answer is whole, was not cut, and has no such item. */
  readonly hasFailed: boolean
}

export function createNativeCompactionReader(origin: string): NativeCompactionReader {
  const steps = createStepReader(origin)
  const heard: Heard = { ...steps.heard }
  let item: SpokenItem | undefined
  const reader = {
    heard,
    hasFailed: false,
    read(frame: Buffer) {
      for (const step of steps.read(frame)) if (step.item.kind === 'compaction') item = step.item
      Object.assign(heard, steps.heard, { heldBytes: steps.heard.outputBytes })
      if (!heard.finished || item?.opaque !== undefined) return
      // One that was cut says what its client has let it say, and nothing about the server.
      reader.hasFailed = steps.ending()?.kind === 'completed'
      heard.finished = false
      heard.error ??= NOT_COMPACTED
    },
    compacted(): Compacted {
      const opaque = item?.opaque
      if (opaque === undefined) throw new Error('an answer without a sealed item cannot stand for a conversation')
      return { kind: 'native', opaque }
    },
  }
  return reader
}

const NOT_COMPACTED = { message: 'The provider did not make the conversation short.', code: 'server_error' }

const TRIGGER = Buffer.from('{"type":"compaction_trigger"}')

/** As a request that asks a provider to make the conversation short: by the last of its items. */
export function withTrigger(request: ResponsesRequest): ResponsesRequest {
  const input = writtenMember(request, 'input')
  const items = input === undefined ? [] : inputElements(input)
  return { ...request, rewritten: new Map([...request.rewritten, ['input', jsonArray([...items, TRIGGER])]]) }
}
