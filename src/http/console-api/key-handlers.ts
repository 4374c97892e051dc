import { changeKey } from '../../account/change-key.ts'
import { changeKeyTerms, changeKeyTermsArgs } from '../../account/change-key-terms.ts'
import { createKey, createKeyArgs } from '../../account/create-key.ts'
import { listOwnKeys, type OwnKey, showOwnKey } from '../../account/list-own-keys.ts'
import { done, type Outcome } from '../../account/outcome.ts'
import { rotateKey, rotateKeyArgs } from '../../account/rotate-key.ts'
import type { AskingOwner, Handlers } from './ask.ts'
import type { ConsoleHouse } from './console-house.ts'
import { type Act, noteAct } from './note-act.ts'
import { pageOf } from './page-of.ts'
import { withArgs } from './with-args.ts'

type Routes =
  | `${'GET' | 'POST'} /keys`
  | `${'GET' | 'PATCH'} /keys/:key`
  | 'POST /keys/:key/rotate'
  | 'POST /keys/:key/revoke'

/** An owner's keys. Whatever is named has to be their own: of another account's key not even that it is there is said. */
export function keyHandlers(house: ConsoleHouse): Pick<Handlers, Routes> {
  const note = (asking: AskingOwner, act: Act) => noteAct(house, asking, act)
  return {
    'GET /keys': (asking, { query }) => listOwnKeys(house, asking.account.row, pageOf(query)),
    'GET /keys/:key': (asking, { params }) => showOwnKey(house, asking.account.row, params.key),
    async 'POST /keys'(asking, { body }) {
      const order = { account: asking.account.id, ...body }
      const made = await withArgs(createKeyArgs, order, (args) => createKey(house, args))
      if (made.kind === 'refused') return made
      const { id, kind, name } = made.value
      await note(asking, { action: 'key_created', target: id, detail: `${kind} key ${JSON.stringify(name)}` })
      return tellSecret(house, asking, id, made.value.key)
    },
    async 'PATCH /keys/:key'(asking, { params, body }) {
      const { row } = asking.account
      const order = { key: params.key, ...body }
      const changed = await withArgs(changeKeyTermsArgs, order, (args) => changeKeyTerms(house, args, row))
      if (changed.kind === 'refused') return changed
      const detail = `${Object.keys(body).join(', ')} of ${JSON.stringify(changed.value.name)}`
      await note(asking, { action: 'key_changed', target: changed.value.id, detail })
      return showOwnKey(house, row, params.key)
    },
    async 'POST /keys/:key/rotate'(asking, { params, body }) {
      const { row } = asking.account
      const order = { key: params.key, grace: body.grace }
      const rotated = await withArgs(rotateKeyArgs, order, (args) => rotateKey(house, args, row))
      if (rotated.kind === 'refused') return rotated
      const { id, name, key } = rotated.value
      const detail = `${JSON.stringify(name)}, the former secret works for ${body.grace}`
      await note(asking, { action: 'key_rotated', target: id, detail })
      return tellSecret(house, asking, id, key)
    },
    async 'POST /keys/:key/revoke'(asking, { params }) {
      const { row } = asking.account
      const revoked = await changeKey(house, params.key, { revoked_at: house.clock.now() }, row)
      if (revoked.kind === 'refused') return revoked
      await note(asking, {
        action: 'key_revoked',
        target: revoked.value.id,
        detail: JSON.stringify(revoked.value.name),
      })
      return showOwnKey(house, row, params.key)
    },
  }
}

async function tellSecret(
  house: ConsoleHouse,
  { account }: AskingOwner,
  id: string,
  secret: string,
): Promise<Outcome<{ key: OwnKey; secret: string }>> {
  const shown = await showOwnKey(house, account.row, id)
  return shown.kind === 'refused' ? shown : done({ key: shown.value, secret })
}
