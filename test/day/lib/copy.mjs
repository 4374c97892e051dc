import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { auditRows } from '../../chaos/lib/audit-rows.mjs'
import { readRows } from '../../cluster/lib/read-rows.mjs'
import { findPostgresPrograms, startPostgres } from '../../program/postgres.mjs'
import { millrace, verifyLedger } from '../../program/program.mjs'
import { copyWreck, readLedgerRows } from '../../program/read-ledger.mjs'

/** How a backup is made under load and restored elsewhere: by `db backup` of files, and by a base backup of PostgreSQL. */
export function createBackup({ site, clock, dist, sections }) {
  const { postgres } = site
  return postgres === undefined ? ofFiles() : ofPostgres()

  function ofFiles() {
    const to = join(site.folder, 'backup')
    return async () => {
      const { taken_at: takenAt } = await millrace(site.nodes[0].place, 'db', 'backup', '--to', to)
      const at = Date.parse(takenAt)
      return {
        ...{ from: at, to: at },
        async restore() {
          const place = site.placeOf(join(site.folder, 'restored'))
          writeFileSync(place.config, JSON.stringify(sections()))
          await millrace(place, 'db', 'restore', '--from', to)
          const copy = copyWreck(place.data)
          const rows = await readLedgerRows({ dist, data: copy.data })
          copy.clear()
          return { rows, verify: await verifyLedger(place), close() {} }
        },
      }
    }
  }

  function ofPostgres() {
    return async () => {
      const from = Date.now()
      const copy = await startPostgres(findPostgresPrograms(), {
        fsync: true,
        copyOf: postgres,
        environment: clock.ofPostgres,
      })
      const to = Date.now()
      return {
        ...{ from, to },
        async restore() {
          const place = site.placeOf(join(site.folder, 'restored'))
          const storage = site.storageOn(copy)
          writeFileSync(place.config, JSON.stringify({ ...sections(), storage }))
          const rows = await readRows(dist, storage.database)
          return { rows, verify: await verifyLedger(place), close: () => copy.stop() }
        },
      }
    }
  }
}

/** Restores it, and holds it against what the clients had been told by then and against the ledger of the day's end. */
export async function auditCopy({ backup, notes, receipts, prepared }, tally) {
  const { rows, verify, close } = await backup.restore()
  const found = []
  auditRows(rows, (invariant, id, says) => found.push(`${invariant} ${id} ${says}`), prepared)
  const copied = new Map(rows.receipts.map((receipt) => [receipt.request_id, receipt]))
  const told = notes.filter(({ ended, replayed, endedAt }) => ended === 'done' && !replayed && endedAt < backup.from)
  for (const { id } of told)
    if (copied.get(id)?.state !== 'settled') found.push(`${id} was answered before the backup, which lacks its charge`)
  for (const [id, { state, charge_nano, outcome, opened_at }] of copied) {
    const live = receipts.get(id)
    if (opened_at > backup.to) found.push(`${id} began after the backup`)
    if (live === undefined) found.push(`${id} is only in the backup`)
    else if (state !== 'open' && (live.charge_nano !== charge_nano || live.outcome !== outcome))
      found.push(`${id} has ${charge_nano} in the backup, and ${live.charge_nano} in the ledger`)
  }
  for (const each of found.slice(0, 8)) console.log(`  backup: ${each}`)
  const open = rows.receipts.filter(({ state }) => state === 'open').length
  console.log(`backup: ${copied.size} receipts, ${open} of them open; ${told.length} answers were complete before it`)
  tally.check(verify.ok, `db verify finds nothing in the restored backup (${verify.violations})`)
  tally.check(found.length === 0, `the restored backup holds against the notes of its moment (${found.length})`)
  tally.check(told.length > 0, 'the backup was made under load')
  await close()
}
