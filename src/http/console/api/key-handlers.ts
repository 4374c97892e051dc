import { revokeKey } from '../../../account/keys/change-key.ts'
import { changeKeyTerms, changeKeyTermsArgs } from '../../../account/keys/change-key-terms.ts'
import { type CreatedKey, createKey, createKeyArgs } from '../../../account/keys/create-key.ts'
import { listOwnKeys, type OwnKey, showOwnKey } from '../../../account/keys/list-own-keys.ts'
import { rotateKey, rotateKeyArgs } from '../../../account/keys/rotate-key.ts'
import { done, type Outcome } from '../../../account/outcome.ts'
import type { AskingOwner, Handlers } from './ask.ts'
import { type ConsoleHouse, inHandOf } from './console-house.ts'
import { pageOf, withArgs } from './read-input.ts'

type Routes =
  | `${'GET' | 'POST'} /keys`
  | `${'GET' | 'PATCH'} /keys/:key`
  | 'POST /keys/:key/rotate'
  | 'POST /keys/:key/revoke'

/** An owner's keys. Whatever is named has to be their own: of another account's key not even that it is there is said. */
export function keyHandlers(house: ConsoleHouse): Pick<Handlers, Routes> {
  return {
    'GET /keys': (asking, { query }) => listOwnKeys(house, asking.account.row, pageOf(query)),
    'GET /keys/:key': (asking, { params }) => showOwnKey(house, asking.account.row, params.key),
    async 'POST /keys'(asking, { body }) {
      const order = { account: asking.account.id, ...body }
      const made = await withArgs(createKeyArgs, order, (args) => createKey(inHandOf(asking, house), args))
      return made.kind === 'refused' ? made : tellSecret(house, asking, made.value)
    },
    async 'PATCH /keys/:key'(asking, { params, body }) {
      const asked = { of: asking.account.row, mayWiden: asking.isConfirmed }
      const changed = await withArgs(changeKeyTermsArgs, { key: params.key, ...body }, (args) =>
        changeKeyTerms(inHandOf(asking, house), args, asked),
      )
      return changed.kind === 'refused' ? changed : showOwnKey(house, asking.account.row, params.key)
    },
    async 'POST /keys/:key/rotate'(asking, { params, body }) {
      const rotated = await withArgs(rotateKeyArgs, { key: params.key, grace: body.grace }, (args) =>
        rotateKey(inHandOf(asking, house), args, asking.account.row),
      )
      return rotated.kind === 'refused' ? rotated : tellSecret(house, asking, rotated.value)
    },
    async 'POST /keys/:key/revoke'(asking, { params }) {
      const { row } = asking.account
      const revoked = await revokeKey(inHandOf(asking, house), params, { of: row, mayWiden: asking.isConfirmed })
      return revoked.kind === 'refused' ? revoked : showOwnKey(house, row, params.key)
    },
  }
}

async function tellSecret(
  house: ConsoleHouse,
  { account }: AskingOwner,
  { id, key: secret }: CreatedKey,
): Promise<Outcome<{ key: OwnKey; secret: string }>> {
  const shown = await showOwnKey(house, account.row, id)
  return shown.kind === 'refused' ? shown : done({ key: shown.value, secret })
}
