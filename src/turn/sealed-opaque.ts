import type { Opaque } from '../model/event.ts'
import type { AccountId } from '../model/ids.ts'
import type { SealPurpose, Seals } from '../model/seals.ts'

/** What only a provider can read, in our envelope. */
export const sealOpaque = (
  seals: Seals,
  purpose: SealPurpose,
  owner: AccountId,
  { wire, origin, data }: Opaque,
): string => seals.seal(purpose, owner, JSON.stringify([wire, origin, data]))

/** Undefined where it is not such an envelope of this account. */
export function openOpaque(seals: Seals, purpose: SealPurpose, owner: AccountId, envelope: string): Opaque | undefined {
  const opened = seals.open(purpose, owner, envelope)
  if (opened === undefined) return undefined
  const [wire, origin, data] = JSON.parse(opened) as [Opaque['wire'], string, string]
  return { wire, origin, data }
}
