// A move in a process of its own, which can be killed: move-in-child.mjs FOLDER TARGET. PostgreSQL runs without fsync here.
import { moveLedger } from '../../../dist/app/move-ledger.js'
import { loadSettings } from '../../../dist/config/load-config.js'
import { systemClock } from '../../../dist/lib/clock.js'

const [folder, to] = process.argv.slice(2)
const context = { environment: { HOME: folder }, cwd: folder }
const services = {
  ...{ program: 'millrace', cwd: folder, clock: systemClock, mayLoseCommits: true },
  loadSettings: (flags) => loadSettings(context, flags),
}
const outcome = await moveLedger(
  services,
  { config: 'move.yaml', data: '.' },
  { to, onStep: (step) => console.log(step) },
)
if (outcome.kind === 'refused') console.error(outcome.message)
process.exitCode = outcome.kind === 'done' && outcome.report.ok ? 0 : 1
