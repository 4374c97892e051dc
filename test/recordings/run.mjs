// Plays recorded provider answers to the real server and compares what a client gets. See ../acceptance/README.md.
//
//   node test/recordings/run.mjs [--id REGEX] [--chop 0] [--reasoning optional] [--strict no] [--dist FOLDER]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyAcceptance } from '../acceptance/acceptance-folder.mjs'
import { findNewerNode } from '../acceptance/newer-node.mjs'
import { endAll, runToEnd, startUntil } from '../acceptance/own-processes.mjs'
import { serveGateway } from '../acceptance/serve-gateway.mjs'
import { readOptions } from '../program/options.mjs'
import { createTally } from '../program/tally.mjs'

/** What Millrace speaks to providers, and what to clients: the columns and rows of the comparison. */
const WIRES = ['openai-chat', 'openai-responses', 'anthropic', 'gemini']
const LANES = ['chat-stream', 'chat-json', 'responses-stream', 'responses-json']
const PROTOCOLS = ['chat', 'responses']

const options = readOptions({ id: '', chop: '1', reasoning: 'require', strict: 'yes' })
const strict = options.strict === 'no' ? [] : ['--strict']
const tally = createTally()
const copy = copyAcceptance('recordings')
const node = copy && (await findNewerNode())
if (node) await playAndCompare(join(copy, 'harness'))
endAll()
tally.close()

async function playAndCompare(cwd) {
  const installed = await runToEnd('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd,
    withinMs: 120_000,
  })
  if (installed.code !== 0) return tally.check(false, `the harness could not be installed:\n${installed.stderr}`)
  const [, replayUrl] = await startUntil(
    /replay server: (\S+)/,
    node,
    ['replay.mjs', '--port', '0', '--chop', options.chop],
    { cwd },
  )
  const wires = ['--wire', WIRES.join(',')]
  const printed = await runToEnd(node, ['gen-config.mjs', '--replay', replayUrl, ...wires], { cwd, withinMs: 20_000 })
  const gateway = await serveGateway({ dist: options.dist, config: JSON.parse(printed.stdout) })
  console.log(`gateway ${process.version}, client ${node}, cut at odd bytes: ${options.chop === '0' ? 'no' : 'yes'}`)
  await compare({ cwd, wires, replayUrl, gateway })
  await handBackToolResults({ cwd, wires, replayUrl, gateway })
  await gateway.stop(tally)
}

async function compare({ cwd, wires, replayUrl, gateway }) {
  const out = join(cwd, 'results.json')
  writeFileSync(out, '[]')
  const which = options.id === '' ? [] : ['--id', options.id]
  const judged = ['--lanes', LANES.join(','), '--reasoning', options.reasoning, ...strict]
  const args = ['compare.mjs', ...wires, ...judged, '--out', out, ...which]
  const env = { BASE_URL: gateway.baseUrl, API_KEY: gateway.key, REPLAY_URL: replayUrl }
  const compared = await runToEnd(node, args, { cwd, env, withinMs: 240_000, shown: true })
  const results = JSON.parse(readFileSync(out, 'utf8'))
  for (const { id, lane, state, diff } of results) {
    if (state === 'PASS' || state === 'FAIL') tally.check(state === 'PASS', `${id} ${lane}${diff ? `: ${diff}` : ''}`)
  }
  tally.check(compared.code === 0 && results.length > 0, `the comparison ended with exit code ${compared.code}`)
}

/** The second turn of a tool call: what of the first answer and of the tool's result reaches the provider. */
async function handBackToolResults({ cwd, wires, replayUrl, gateway }) {
  const which = options.id === '' ? [] : ['--id', options.id]
  const env = { BASE_URL: gateway.baseUrl, API_KEY: gateway.key, REPLAY_URL: replayUrl }
  const args = ['turn2.mjs', ...wires, '--lanes', PROTOCOLS.join(','), ...strict, ...which]
  const { code, stdout } = await runToEnd(node, args, { cwd, env, withinMs: 120_000 })
  const lines = stdout.split('\n').filter((line) => /^(PASS|FAIL) /.test(line))
  for (const line of lines)
    tally.check(line.startsWith('PASS'), `second turn of ${line.slice(4).trim().replace(/\s+/g, ' ')}`)
  if (which.length === 0) tally.check(lines.length > 0 && code === 0, `the second turns ended with exit code ${code}`)
}
