import type { Compacted } from '../model/compaction.ts'
import type { Opaque } from '../model/event.ts'
import type { AccountId } from '../model/ids.ts'
import type { Seals } from '../model/seals.ts'
import type { Sealing } from '../wire/responses/write-item.ts'

/** What the clients of one account carry for us from one request to the next. What does not open is undefined. */
export interface Envelopes extends Sealing {
  openReasoning(envelope: string): Opaque | undefined
  openCompaction(envelope: string): Compacted | undefined
}

export function envelopesOf(seals: Seals, owner: AccountId): Envelopes {
  return {
    sealReasoning: (opaque) => seals.seal('reasoning', owner, JSON.stringify(listOf(opaque))),
    openReasoning(envelope) {
      const opened = seals.open('reasoning', owner, envelope)
      return opened === undefined ? undefined : opaqueOf(JSON.parse(opened))
    },
    sealCompaction: (compacted) =>
      seals.seal(
        'compaction',
        owner,
        JSON.stringify(compacted.kind === 'summary' ? compacted.text : listOf(compacted.opaque)),
      ),
    openCompaction(envelope) {
      const opened = seals.open('compaction', owner, envelope)
      if (opened === undefined) return undefined
      const content = JSON.parse(opened) as string | List
      return typeof content === 'string'
        ? { kind: 'summary', text: content }
        : { kind: 'native', opaque: opaqueOf(content) }
    },
  }
}

/** Short, because clients send it again with every request. */
type List = readonly [wire: Opaque['wire'], origin: string, data: string]

const listOf = ({ wire, origin, data }: Opaque): List => [wire, origin, data]
const opaqueOf = ([wire, origin, data]: List): Opaque => ({ wire, origin, data })
