import { expect, it } from 'vitest'
import { actorLogOf } from '../../../src/admin/audit.ts'
import { createGroup, patchGroup } from '../../../src/admin/scim-groups.ts'
import { changeDirectory, createUser, type ScimOutcome, type ScimServices } from '../../../src/admin/scim-users.ts'
import { readScimVersion, scimVersionUse } from '../../../src/db/scim.ts'
import type { AccountRow } from '../../../src/model/ids.ts'
import { signUp } from '../../support/console-session.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer({ config: TEST_CONFIG })

async function openDirectory(): Promise<ScimServices> {
  const email = 'team@example.com'
  const { id } = await server().operate('accounts.create', { email })
  await signUp(server(), { email: 'chief@example.com', account: id })
  const { operations } = server().app
  const { db, people } = operations
  const { row } = await db.selectFrom('accounts').select('row').where('id', '=', id).executeTakeFirstOrThrow()
  const roles = [
    { group: 'Owners', account: email, role: 'owner' },
    { group: 'Viewers', account: email, role: 'viewer' },
  ] as const
  const auditLog = actorLogOf(people.audit, 'directory')
  return { ...operations, account: row as AccountRow, base: '', roles, auditLog }
}

const idOf = (outcome: ScimOutcome): string => {
  if (outcome.kind === 'refused') throw new Error(outcome.detail)
  return (outcome.value as { id: string }).id
}

it('takes every role away from a person who leaves two groups at once on two nodes', async () => {
  const services = await openDirectory()
  const { db, account, auditLog } = services
  const { files } = server().app.operations
  const change = (work: Parameters<typeof changeDirectory>[1]) => changeDirectory(services, work)
  const person = idOf(await change((given) => createUser(given, { userName: 'ann@example.com' })))
  const members = [{ value: person }]
  const [owners, viewers] = [
    idOf(await change((given) => createGroup(given, { displayName: 'Owners', members }))),
    idOf(await change((given) => createGroup(given, { displayName: 'Viewers', members }))),
  ]
  const leave = { Operations: [{ op: 'remove', path: `members[value eq "${person}"]` }] }
  let writes = 0
  const act: typeof auditLog.act = async (acts, statements) => {
    // The other node writes between what this one reads and writes.
    if (++writes === 1) {
      idOf(await patchGroup(services, viewers, leave))
      await files.ledger.atomic([scimVersionUse(account, await readScimVersion(db, account))])
    }
    return auditLog.act(acts, statements)
  }
  const slow = { ...services, auditLog: { ...auditLog, act } }
  idOf(await changeDirectory(slow, (given) => patchGroup(given, owners, leave)))
  const { role } = await db.selectFrom('people').select('role').where('id', '=', person).executeTakeFirstOrThrow()
  expect([writes, role]).toEqual([2, 'member'])
})

it('makes the changes of one directory one after the other', async () => {
  const services = { ...server().app.operations, account: 1 as AccountRow } as unknown as ScimServices
  let running = 0
  const work = async (): Promise<ScimOutcome> => {
    expect(++running).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 5))
    running--
    return { kind: 'done', value: {} }
  }
  await Promise.all([1, 2, 3].map(() => changeDirectory(services, work)))
  const failed = changeDirectory(services, () => Promise.reject(new Error('no database')))
  await expect(failed).rejects.toThrow('no database')
  await changeDirectory(services, work)
})
