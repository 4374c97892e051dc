import { changeKey, revokeKey } from '../../../account/keys/change-key.ts'
import { type CreatedKey, createKey } from '../../../account/keys/create-key.ts'
import { listOwnKeys, type OwnKey, showOwnKey } from '../../../account/keys/list-own-keys.ts'
import { rotateKey } from '../../../account/keys/rotate-key.ts'
import { done, type Outcome } from '../../../account/outcome.ts'
import type { AskingOwner, Handlers } from './ask.ts'
import { type ConsoleHouse, inHandOf } from './console-house.ts'

/** An owner's keys. Whatever is named has to be their own: of another account's key not even that it is there is said. */
export const keyHandlers = (house: ConsoleHouse) =>
  ({
    'GET /keys': (asking, { query }) => listOwnKeys(house, asking.account.row, query),
    'GET /keys/:key': (asking, { params }) => showOwnKey(house, asking.account.row, params.key),
    async 'POST /keys'(asking, { body }) {
      const made = await createKey(inHandOf(asking, house), { account: asking.account.id, ...body })
      return made.kind === 'refused' ? made : tellSecret(house, asking, made.value)
    },
    async 'PATCH /keys/:key'(asking, { params: { key }, body }) {
      const changed = await changeKey(inHandOf(asking, house), { key, ...body }, asOwner(asking))
      return changed.kind === 'refused' ? changed : showOwnKey(house, asking.account.row, key)
    },
    async 'POST /keys/:key/rotate'(asking, { params: { key }, body }) {
      const rotated = await rotateKey(inHandOf(asking, house), { key, ...body }, asking.account.row)
      return rotated.kind === 'refused' ? rotated : tellSecret(house, asking, rotated.value)
    },
    async 'POST /keys/:key/revoke'(asking, { params: { key } }) {
      const revoked = await revokeKey(inHandOf(asking, house), { key }, asOwner(asking))
      return revoked.kind === 'refused' ? revoked : showOwnKey(house, asking.account.row, key)
    },
  }) satisfies Partial<Handlers>

const asOwner = ({ account, isConfirmed }: AskingOwner) => ({ of: account.row, mayWiden: isConfirmed })

async function tellSecret(
  house: ConsoleHouse,
  { account }: AskingOwner,
  { id, key: secret }: CreatedKey,
): Promise<Outcome<{ key: OwnKey; secret: string }>> {
  const shown = await showOwnKey(house, account.row, id)
  return shown.kind === 'refused' ? shown : done({ key: shown.value, secret })
}
