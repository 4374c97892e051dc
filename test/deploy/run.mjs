// Deploys Millrace in every way that docs/operate/deploy.md names, with the commands and files that a reader gets, and streams an answer
// through each. A part whose programs are missing is skipped with a message.
//
//   node test/deploy/run.mjs                                   # all parts
//   node test/deploy/run.mjs --only nginx,caddy,haproxy        # some
//   node test/deploy/run.mjs --only global,npx --nodes 20,22,24,26 --npm 11,12
//   node test/deploy/run.mjs --only container --image millrace:1.0.0   # as an earlier run has built it
//   node test/deploy/run.mjs --only nginx --silence-ms 65000   # longer than the proxy's own default
import { readOptions } from '../program/options.mjs'
import { Skip } from './lib/machine.mjs'
import { composeParts } from './parts/compose.mjs'
import { containerParts } from './parts/container.mjs'
import { kubernetesParts } from './parts/kubernetes.mjs'
import { packageParts } from './parts/packages.mjs'
import { proxyParts } from './parts/proxies.mjs'
import { serviceParts } from './parts/services.mjs'
import { upgradeParts } from './parts/upgrade.mjs'

const PARTS = {
  ...packageParts,
  ...serviceParts,
  ...containerParts,
  ...composeParts,
  ...kubernetesParts,
  ...proxyParts,
  ...upgradeParts,
}

// Each folder and process that a part opens is closed at the end at the latest.
process.setMaxListeners(0)
const options = readOptions({ only: Object.keys(PARTS).join(','), nodes: '', npm: '', image: '', 'silence-ms': 2000 })
const counts = { passed: 0, failed: 0, skipped: 0 }
for (const name of options.only.split(',')) {
  if (PARTS[name] === undefined) throw new Error(`There is no part ${name}. Parts: ${Object.keys(PARTS).join(', ')}`)
  await runPart(name, PARTS[name])
}
console.log(
  `${counts.passed} passed, ${counts.failed} failed${counts.skipped === 0 ? '' : `, ${counts.skipped} skipped`}`,
)
process.exit(counts.failed > 0 ? 1 : 0)

async function runPart(name, part) {
  const began = performance.now()
  const time = () => `${((performance.now() - began) / 1000).toFixed(1)} s`
  try {
    const note = await part(options)
    counts.passed += 1
    console.log(`pass  ${name} (${time()})${note === undefined ? '' : `: ${note}`}`)
  } catch (error) {
    const skipped = error instanceof Skip
    counts[skipped ? 'skipped' : 'failed'] += 1
    console.log(
      skipped ? `skip  ${name}: ${error.message}` : `FAIL  ${name} (${time()}): ${error.message}\n${error.stack}`,
    )
  }
}
