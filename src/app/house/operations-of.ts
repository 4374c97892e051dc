import { createRedeemTries } from '../../account/codes/redeem-code.ts'
import { COMMAND_LINE } from '../../account/trail/audit-trail.ts'
import { trailOf } from '../../account/trail/trail.ts'
import { digestKey, mintKey } from '../../keys/key-secret.ts'
import { deriveKey } from '../../lib/derive-key.ts'
import { apiKeyPepper } from '../ring/check-ring.ts'
import type { House } from './house.ts'
import type { Parts } from './parts.ts'

/** What the use cases of operators and owners ask for, in the hand of the command line. */
export function operationsOf(parts: Parts): House['operations'] {
  const { clock, random, ledger, rules, health, finder, people, ring } = parts
  const { patientDb: db } = parts.database
  const pepper = apiKeyPepper(ring)
  const codePepper = deriveKey(ring.founding.secret, 'redemption-codes')
  return {
    ...{ db, clock, random, ledger, health, people },
    catalog: () => rules.current.catalog,
    liveKeysMax: () => rules.current.liveKeysMax,
    keyRates: () => rules.current.limits.key,
    trail: trailOf(people.audit, COMMAND_LINE),
    mintKey: (kind) => mintKey({ pepper, random }, kind),
    digestCode: (letters) => digestKey(codePepper, letters),
    redeemTries: createRedeemTries(clock),
    forgetKey: (id) => finder.forget(id),
    // What a session says of its account may have changed with it.
    forgetAccount(account) {
      finder.forgetAccount(account)
      people.sessions.forgetAll()
    },
  }
}
