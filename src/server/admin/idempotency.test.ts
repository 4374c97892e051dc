import { describe, expect, it } from 'vitest'
import { useTestLedger } from '../../../test/fixtures/admin/use-test-ledger.ts'
import { createAdminKey, revokeAdminKey } from '../../admin/admin-keys.ts'
import { actorLogOf } from '../../admin/audit.ts'
import { inviteAtServer } from '../../admin/invitations.ts'
import { createKey } from '../../admin/keys.ts'
import type { OwnerServices } from '../../admin/services.ts'
import { NEWEST } from '../../admin/values.ts'
import { creditWallet } from '../../admin/wallet.ts'
import { listAuditBefore } from '../../db/audit.ts'
import { AdminKeyEnded, createAdminWrites, KeyClaimed } from './idempotency.ts'

const HOUR_MS = 3_600_000
let ahead = 0
const fixture = useTestLedger({
  owners: ['ann'],
  clock: { now: () => 1_800_000_000_000 + ahead, nowMicros: () => ahead * 1000 },
})

const CALL = { scope: 'a scope', fingerprint: 'a body', at: 1, expires_at: 2_000_000_000_000 }

/** A request of a new admin key that has got as far as its use case. */
async function begin(requestId?: string) {
  const { services } = fixture
  const made = await createAdminKey(services, { name: 'CI', scopes: ['admin'], expires: '1h' })
  if (made.kind === 'refused') throw new Error(made.message)
  const caller = { id: made.value.id, scopes: made.value.scopes, expiresAt: null, account: undefined }
  const claim = requestId === undefined ? undefined : { call: { ...CALL, request_id: requestId }, replaces: undefined }
  const { audit, claimNow } = createAdminWrites(services as unknown as OwnerServices, caller, claim)
  const actor = `admin-key:${caller.id}`
  const request = { ...services, people: { ...services.people, audit }, auditLog: actorLogOf(audit, actor) }
  return {
    key: caller.id,
    claimNow,
    invite: () =>
      inviteAtServer(
        { ...request, status: () => ({ running: false }) as never },
        { role: 'owner', account: 'ann@example.com' },
        actor,
      ),
    makeKey: () => createKey(request, { account: 'ann@example.com', kind: 'wallet', name: 'made' }),
    credit: (ledger = services.ledger) =>
      creditWallet({ ...request, ledger }, { account: 'ann@example.com', amount: '1', reason: 'x', ref: 'y' }),
  }
}

const actions = async (): Promise<string[]> =>
  (
    await listAuditBefore(fixture.services.db, { account: undefined, target: undefined, before: NEWEST, limit: 99 })
  ).map(({ action }) => action)

describe('a request of an admin key', () => {
  it.each(['invite', 'makeKey', 'credit'] as const)('changes nothing once the key is revoked: %s', async (what) => {
    const request = await begin()
    await revokeAdminKey(fixture.services, { key: request.key })
    const before = await actions()
    await expect(request[what]()).rejects.toMatchObject({ name: AdminKeyEnded.name, reason: 'revoked' })
    expect(await actions()).toEqual(before)
    expect(await fixture.services.db.selectFrom('invites').selectAll().execute()).toEqual([])
  })

  it('changes nothing once the key has expired', async () => {
    const request = await begin()
    ahead += HOUR_MS
    await expect(request.makeKey()).rejects.toMatchObject({ name: AdminKeyEnded.name, reason: 'expired' })
    await expect(request.invite()).rejects.toMatchObject({ reason: 'expired' })
  })

  it('records how its order ended, also if the key was revoked meanwhile', async () => {
    const request = await begin()
    await request.credit()
    const { ledger } = fixture.services
    const revokeFirst: typeof ledger.credit = async (order) => {
      await revokeAdminKey(fixture.services, { key: request.key })
      return ledger.credit(order)
    }
    expect((await request.credit({ ...ledger, credit: revokeFirst })).kind).toBe('done')
    expect((await actions()).slice(0, 3)).toEqual(['order_void', 'admin_key_revoked', 'wallet_ordered'])
  })

  it.each(['invite', 'makeKey', 'credit', 'claimNow'] as const)('does nothing with a claimed key: %s', async (what) => {
    const first = await begin('req_first')
    expect((await first.makeKey()).kind).toBe('done')
    // What it does after its first change has no condition.
    expect((await first.invite()).kind).toBe('done')
    const second = await begin('req_second')
    const before = await actions()
    await expect(second[what]()).rejects.toThrow(KeyClaimed)
    expect(await actions()).toEqual(before)
  })
})
