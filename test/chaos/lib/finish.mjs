import { verifyLedger } from '../../program/program.mjs'
import { readLedgerRows } from '../../program/read-ledger.mjs'
import { audit } from './audit.mjs'
import { MARK_INTERVAL_MS } from './scene.mjs'

/**
 * The server stops as an operator stops it, and the rows are read before any command opens the books again: whatever it
 * left open would be resolved by that. The reading is done by the true product, whatever wrote them.
 */
export async function finish({ stage, trueDist, slackMs }) {
  const exit = await stage.stop()
  const place = { ...stage.place, dist: trueDist }
  const ledgerRows = await readLedgerRows(place)
  const verify = await verifyLedger(place)
  const { notes, kills, pauses } = stage
  return {
    exit,
    ledgerRows,
    verify,
    ...audit({ notes, kills, pauses, ledgerRows, verify, intervalMs: MARK_INTERVAL_MS, slackMs }),
  }
}
