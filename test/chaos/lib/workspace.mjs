import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyDist } from '../../program/copies.mjs'
import { createRandom } from '../../program/random.mjs'
import { createTally } from '../../program/tally.mjs'
import { prepareScene } from './prepare-scene.mjs'
import { startProvider } from './provider.mjs'

/** What every script stands on: a copy of the product, a folder with accounts and keys, a provider, a seed, a tally. */
export async function openStageContext({ dist, seed, 'slack-ms': slackMs }, prepare = prepareScene) {
  const template = mkdtempSync(join(tmpdir(), 'millrace-chaos-template-'))
  process.on('exit', () => rmSync(template, { recursive: true, force: true }))
  const { dist: trueDist } = copyDist(dist)
  const providerPort = await startProvider()
  const accounts = await prepare(trueDist, template, providerPort)
  return { dist, trueDist, template, accounts, providerPort, random: createRandom(seed), slackMs, tally: createTally() }
}
