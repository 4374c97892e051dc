import type { Opaque } from '../../model/event.ts'

/** A lane, as far as it tells whose seals it can open. */
interface OpeningLane {
  readonly origin: string
  readonly dialect:
    | { readonly wire: Exclude<Opaque['wire'], 'chat'> }
    | { readonly wire: 'chat'; readonly reasoningBack: boolean }
}

/**
 * What a lane is given back of what was sealed: only what it has sealed itself, because any other provider, and another
 * model of the same one, refuses it. The words of a chat lane are no secret of that lane: every one that wants its
 * reasoning back may have them. Undefined: nothing of it is for this lane.
 */
export function opaqueForLane(opaque: Opaque | undefined, { origin, dialect }: OpeningLane): string | undefined {
  if (opaque === undefined || opaque.wire !== dialect.wire) return undefined
  const isForIt = dialect.wire === 'chat' ? dialect.reasoningBack : opaque.origin === origin
  return isForIt ? opaque.data : undefined
}
