import { join } from 'node:path'
import { createRedeemTries } from '../../account/codes/redeem-code.ts'
import { COMMAND_LINE } from '../../account/trail/audit-trail.ts'
import { trailOf } from '../../account/trail/trail.ts'
import type { FileCheck } from '../../account/verify-ledger.ts'
import { digestKey, mintKey } from '../../keys/key-secret.ts'
import { deriveKey } from '../../lib/derive-key.ts'
import { checkIntegrity } from '../../sqlite/check-integrity.ts'
import { apiKeyPepper } from '../ring/check-ring.ts'
import type { House } from './house.ts'
import type { Parts } from './parts.ts'

/** What the use cases of operators and owners ask for, in the hand of the command line. */
export function operationsOf(parts: Parts): House['operations'] {
  const {
    clock,
    random,
    ledger,
    rules,
    health,
    estimateErrors,
    finder,
    people,
    ring,
    countedInputs,
    database,
    content,
  } = parts
  const { patientDb: db } = parts.database
  const pepper = apiKeyPepper(ring)
  const checkFiles = fileCheckerOf(parts)
  const codePepper = deriveKey(ring.founding.secret, 'redemption-codes')
  return {
    ...{ db, clock, random, ledger, health, estimateErrors, people, countedInputs, checkFiles },
    catalog: () => rules.current.catalog,
    liveKeysMax: () => rules.current.liveKeysMax,
    keyRates: () => rules.current.limits.key,
    trail: trailOf(people.audit, COMMAND_LINE),
    mintKey: (kind) => mintKey({ pepper, random }, kind),
    digestCode: (letters) => digestKey(codePepper, letters),
    redeemTries: createRedeemTries(clock),
    ledgerClock: clock,
    files: { ledger: database.file, content },
    forgetAll() {
      finder.forgetAll()
      people.sessions.forgetAll()
    },
    forgetKey: (id) => finder.forget(id),
    // What a session says of its account may have changed with it.
    forgetAccount(account) {
      finder.forgetAccount(account)
      people.sessions.forgetAll()
    },
  }
}

/** One check after the other, whoever asks: each holds back the checkpoints of the file that it reads. */
function fileCheckerOf({ config, content, database }: Parts): () => Promise<readonly FileCheck[]> {
  const files = { 'ledger.db': database.file, 'content.db': content }
  let last: Promise<unknown> = Promise.resolve()
  const checkAll = async (): Promise<readonly FileCheck[]> => {
    const checks: FileCheck[] = []
    for (const [file, opened] of Object.entries(files)) {
      checks.push({ file, report: await checkIntegrity(opened, join(config.storage.data, file)) })
    }
    return checks
  }
  return () => {
    const mine = last.then(checkAll)
    last = mine.catch(() => {})
    return mine
  }
}
