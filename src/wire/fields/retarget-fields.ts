import type { TurnRequest } from '../../model/turn.ts'
import { isNullMember } from '../json/members.ts'
import type { LaneManners } from '../lane-manners.ts'
import type { FieldTable } from './field-rule.ts'

/** What becomes of members where a client's own request goes to a lane: a new value as JSON, or null for those that go. */
export type MemberChanges = Map<string, Buffer | string | null>

/**
 * What every lane of the client's own protocol gets otherwise than it came: what was written anew at the door, and without
 * what we decide on ourselves and what counts as absent.
 */
export function changesForLanes({ body, rewritten }: TurnRequest, table: FieldTable): MemberChanges {
  const changes: MemberChanges = new Map(rewritten)
  for (const member of body.members) {
    const policy = table[member.name]?.policy
    const isOurs = policy === 'control' || policy === 'standard-only' || policy === 'refused'
    if (isOurs || isNullMember(body, member)) changes.set(member.name, null)
  }
  return changes
}

interface PassingLane {
  readonly dialect: LaneManners & { readonly extraFields: readonly string[] }
  readonly passFields: readonly string[]
}

/** The fields beyond the standard ones that neither the dialect of this lane nor the operator passes on. */
export const optionalFieldsLeftOut = (request: TurnRequest, { dialect, passFields }: PassingLane): string[] =>
  request.optionalFields.filter((field) => !passFields.includes(field) && !dialect.extraFields.includes(field))
