import { join } from 'node:path'
import { actorLogOf, COMMAND_LINE } from '../admin/audit.ts'
import { createRedeemTries } from '../admin/redeem-code.ts'
import type { FileCheck } from '../admin/verify-ledger.ts'
import { digestKey, mintKey } from '../auth/secrets.ts'
import { checkIntegrity } from '../db/sqlite/check-integrity.ts'
import { deriveKey } from '../lib/crypto.ts'
import type { App, Services } from './app.ts'
import { apiKeyPepper } from './key-ring.ts'

/** What the use cases of operators and owners ask for, in the hand of the command line. */
export function operationsOf(parts: Services): App['operations'] {
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
    auditLog: actorLogOf(people.audit, COMMAND_LINE),
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
function fileCheckerOf({ config, content, database }: Services): () => Promise<readonly FileCheck[]> {
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
