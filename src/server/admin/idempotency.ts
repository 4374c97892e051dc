import { type AdminCaller, type AdminKeyRefusal, judgeAdminKey } from '../../admin/admin-keys.ts'
import type { AuditLog } from '../../admin/audit.ts'
import type { OwnerServices } from '../../admin/services.ts'
import { type AdminCall, adminCallClaim, adminKeyStillValid, findAdminCall } from '../../db/admin-keys.ts'
import type { KeptAnswer } from '../../db/content/kept-answers.ts'
import { UnexpectedChanges } from '../../db/sql-store.ts'
import type { AccountId, RequestId } from '../../model/ids.ts'
import { type Problem, problem, retryableProblem } from '../../model/problem.ts'
import type { RequestContext } from '../request-context.ts'

/** What the first request with an idempotency key claims, in the transaction of its first change. */
export interface Claim {
  readonly call: Omit<AdminCall, 'acted'>
  /** A request that broke off before it changed anything, in whose place this one runs. */
  readonly replaces: string | undefined
}

/** What became of the first request with a key. */
export type EarlierCall =
  | { readonly kind: 'kept'; readonly answer: KeptAnswer; readonly body: Buffer }
  | { readonly kind: 'refused'; readonly problem: Problem }

type LookedUpCall = { readonly kind: 'first'; readonly claim: Claim } | EarlierCall

/** A request takes at most seconds. One without an answer after this time has broken off. */
const ANSWERED_WITHIN_MS = 60_000

/** Whether this request is the first with its key, or what became of the first. */
export async function lookUpCall(
  { edge, path, request, requestId }: RequestContext,
  { caller, idempotencyKey, body }: { caller: AdminCaller; idempotencyKey: string; body: Buffer },
): Promise<LookedUpCall> {
  const { digests, keptMs } = edge.gateway.services
  const scope = digests.scopeOf({ key: caller.id, method: request.method ?? '', path, idempotencyKey })
  const at = edge.admin.clock.now()
  const fingerprint = await digests.fingerprintOf(body)
  const call = { scope, fingerprint, request_id: requestId, at, expires_at: at + keptMs }
  return findEarlier(edge, caller, call)
}

async function findEarlier(
  { admin: { db, clock }, gateway }: RequestContext['edge'],
  caller: AdminCaller,
  call: Claim['call'],
): Promise<LookedUpCall> {
  const now = clock.now()
  const earlier = await findAdminCall(db, call.scope, now)
  if (earlier === undefined) return { kind: 'first', claim: { call, replaces: undefined } }
  const { request_id: first, fingerprint, acted, at } = earlier
  if (fingerprint !== call.fingerprint) {
    const message = `The request ${first} used this Idempotency-Key with another body. Use a new key for this body.`
    return { kind: 'refused', problem: problem('idempotency_key_reused', message) }
  }
  const answer = await gateway.services.answers.find(first as RequestId, ownerOf(caller))
  const body = await answer?.read()
  if (answer !== undefined && body !== undefined) return { kind: 'kept', answer, body }
  if (now - at < ANSWERED_WITHIN_MS) return { kind: 'refused', problem: stillRunning(first) }
  // An order that was announced may not have reached the ledger. Given again, it counts once.
  if (acted === 0) return { kind: 'first', claim: { call, replaces: first } }
  const message =
    `The request ${first} with this Idempotency-Key has made its change, and its answer is lost. ` +
    'GET /admin/v1/audit shows what was changed. Send another request only with a new key.'
  return { kind: 'refused', problem: problem('idempotency_not_replayable', message) }
}

/** Another request has claimed the key since this one looked it up. */
export async function findWinner(
  edge: RequestContext['edge'],
  caller: AdminCaller,
  claim: Claim,
): Promise<EarlierCall> {
  const found = await findEarlier(edge, caller, claim.call)
  return found.kind === 'first' ? { kind: 'refused', problem: stillRunning(claim.call.request_id) } : found
}

const stillRunning = (first: string): Problem =>
  retryableProblem('idempotency_in_progress', `The request ${first} with this Idempotency-Key is still running.`, {
    first: 'A retry with the same key gets its answer',
    retryAfterSeconds: 2,
  })

/** Kept answers have an owner; here it is the admin key. */
const ownerOf = ({ id }: AdminCaller): AccountId => id as AccountId

/** Keeps an answer for repeated requests. Fails with `KeyClaimed` if another request has claimed the key. */
export async function keepAnswer(
  { edge }: RequestContext,
  { caller, writes, claim, status, body }: KeptCall,
): Promise<void> {
  await writes.claimNow()
  const { request_id: requestId, expires_at: expiresAt } = claim.call
  await edge.gateway.services.answers.keep({
    ...{ requestId: requestId as RequestId, account: ownerOf(caller), status, body, expiresAt },
    ...{ contentType: 'application/json', facts: '' },
  })
}

interface KeptCall {
  readonly caller: AdminCaller
  readonly writes: AdminWrites
  readonly claim: Claim
  readonly status: number
  readonly body: Buffer
}

/** The admin key was revoked or has expired before its change was written. Nothing was changed. */
export class AdminKeyEnded extends Error {
  override readonly name = 'AdminKeyEnded'
  readonly reason: AdminKeyRefusal

  constructor(reason: AdminKeyRefusal) {
    super('The admin key was revoked or has expired')
    this.reason = reason
  }
}

/** Another request with the same idempotency key came first. Nothing was changed. */
export class KeyClaimed extends Error {
  override readonly name = 'KeyClaimed'
}

export type AdminWrites = ReturnType<typeof createAdminWrites>

/**
 * The audit log for one request of an admin key. Every change is recorded there, and here it gets two conditions in its
 * transaction: the key is still valid, and no other request has claimed the idempotency key.
 */
export function createAdminWrites({ people, db, clock }: OwnerServices, caller: AdminCaller, claim?: Claim) {
  let isClaimed = claim === undefined
  const claimOf = (acted: 0 | 1) =>
    claim === undefined || isClaimed ? [] : [adminCallClaim({ ...claim.call, acted }, claim.replaces)]
  /** Says which of the two conditions has failed, if one has. */
  const explain = async (error: unknown): Promise<unknown> => {
    if (!(error instanceof UnexpectedChanges)) return error
    const ended = await judgeAdminKey(db, caller.id, clock.now())
    if (ended !== undefined) return new AdminKeyEnded(ended)
    const winner = claim && (await findAdminCall(db, claim.call.scope, clock.now()))
    const isOurs = winner === undefined || [claim?.call.request_id, claim?.replaces].includes(winner.request_id)
    return isOurs ? error : new KeyClaimed()
  }
  const audit: AuditLog = {
    async record(entries, alongside = []) {
      // How an order has ended is recorded even if the key was revoked meanwhile.
      const isEnd = [entries].flat().every(({ action }) => action === 'order_void' || action === 'order_failed')
      const valid = isEnd ? [] : [adminKeyStillValid(caller.id, clock.now())]
      try {
        await people.audit.record(entries, [...valid, ...claimOf(alongside.length > 0 ? 1 : 0), ...alongside])
        isClaimed = true
      } catch (error) {
        throw await explain(error)
      }
    },
  }
  return {
    audit,
    /** For a request that has changed nothing. */
    async claimNow(): Promise<void> {
      const statements = claimOf(0)
      if (statements.length === 0) return
      try {
        await people.file.atomic(statements)
      } catch (error) {
        throw await explain(error)
      }
    },
  }
}
