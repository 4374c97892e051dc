import type { Lane } from '../catalog/catalog.ts'
import { readRenderedPrompt, readSentPrompt } from '../protocols/prompt-fingerprint.ts'
import type { LaneDialect } from '../protocols/wires.ts'
import type { GuardedTurn, PrefixGuard } from '../routing/prefix-guard.ts'
import type { Turn } from './turn.ts'

interface WrittenCall {
  readonly guarded: GuardedTurn
  readonly lane: Lane
  readonly dialect: LaneDialect
  readonly options: { readonly withoutSeals: boolean }
  /** As it goes to the provider. */
  readonly body: Buffer
}

/** Compares what a lane is about to get with what the conversation's last turn has sent. */
export function comparePrefix(guard: PrefixGuard, { request }: Turn, call: WrittenCall): void {
  const { guarded, lane, dialect, options, body } = call
  const sealed = request.protocol === 'responses' ? [...request.sealed.values()] : []
  guard.compare(guarded, {
    origin: lane.origin,
    readAsked: (known) => readSentPrompt(request.body, request.inputField, known),
    readRendered: (known, asked) => readRenderedPrompt(body, dialect.wire, known, asked),
    isCompacted: request.protocol === 'responses' && request.isCompacted,
    dropsUnbound: lane.upstream.prefixMismatch === 'drop' && !dialect.withoutFields.includes('block_binding'),
    reasoningLeftOut: sealed.filter(({ origin }) => options.withoutSeals || origin !== lane.origin).length,
  })
}
