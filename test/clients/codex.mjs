// Drives the real Codex through the real server: tools, resuming, silence, upgrades, efforts and compaction. See
// ../acceptance/README.md and ../../docs/clients/codex.md.
//
//   node test/clients/codex.mjs [--installed FOLDER] [--only lanes|efforts|compaction|silence] [--silence-ms N] [--dist FOLDER]
import { endAll } from '../acceptance/own-processes.mjs'
import { serveGateway } from '../acceptance/serve-gateway.mjs'
import { readOptions } from '../program/options.mjs'
import { createTally } from '../program/tally.mjs'
import * as cases from './lib/codex-cases.mjs'
import { installCodex } from './lib/codex-cli.mjs'
import { openCountingProxy } from './lib/counting-proxy.mjs'
import { startScriptedProvider } from './lib/scripted-provider.mjs'

/** `custom`: the server takes tools of free text as such, so that Codex's patch tool goes to it as one. */
const LANES = [
  { name: 'on-chat', wire: 'chat', dialect: 'openai', custom: true },
  { name: 'on-plain-chat', wire: 'chat', dialect: 'generic', custom: false },
  { name: 'on-responses', wire: 'responses', dialect: 'openai', custom: true },
  { name: 'on-plain-responses', wire: 'responses', dialect: 'generic', custom: false },
]
/** By how an id begins Codex takes it for a model of its own: one with a patch tool, one that is told "responses lite". */
const FAMILIES = ['gpt-5.5', 'gpt-6-sol', 'fast-coder']
const EFFORTS = ['low', 'medium', 'high']
const CONTEXT_TOKENS = 100_000

/** The table of docs/clients/codex.md in short: the beginning of an id, its ending, what is set, what is asked for. */
const EFFORT_CASES = [
  { family: 'fast-coder', list: false, effort: undefined },
  { family: 'fast-coder', list: true, effort: undefined },
  { family: 'fast-coder', list: true, set: 'low', effort: 'low' },
  { family: 'fast-coder', suffix: 'high', list: false, effort: 'high' },
  { family: 'fast-coder', suffix: 'high', list: true, effort: 'high' },
  { family: 'gpt-5.5', list: false, effort: 'medium' },
  { family: 'gpt-5.5', list: true, effort: undefined },
  { family: 'gpt-5.5', suffix: 'high', list: false, refused: /In Codex, set model_reasoning_effort = \\"high\\"/ },
  { family: 'gpt-5.5', suffix: 'high', list: false, set: 'high', effort: 'high' },
  { family: 'gpt-5.5', suffix: 'high', list: true, effort: 'high' },
  { family: 'gpt-6-sol', suffix: 'low', list: false, refused: /In Codex, set model_reasoning_effort = \\"low\\"/ },
  { family: 'gpt-6-sol', suffix: 'low', list: true, effort: 'low' },
]

const options = readOptions({ installed: '', only: 'lanes,efforts,compaction,silence', 'silence-ms': 45_000 })
const wanted = new Set(options.only.split(','))
const tally = createTally()
const binary = await installCodex(options.installed)
if (binary) await driveAll()
endAll()
tally.close()

async function driveAll() {
  const provider = await startScriptedProvider()
  const gateway = await serveGateway({ dist: options.dist, config: configFor(provider.url) })
  const proxy = await openCountingProxy(gateway.baseUrl)
  // What is told of a turn is read off the door, so that only one turn at a time may come through it.
  const quietProxy = await openCountingProxy(gateway.baseUrl)
  const scene = { tally, binary, provider, proxy, key: gateway.key, contextTokens: CONTEXT_TOKENS }
  const silences = wanted.has('silence') ? LANES.map((lane) => silence({ ...scene, proxy: quietProxy }, lane)) : []
  for (const lane of LANES) {
    if (wanted.has('lanes')) await driveLane(scene, lane)
    if (wanted.has('efforts') && lane.dialect === 'openai') await driveEfforts(scene, lane)
    if (wanted.has('compaction')) await driveCompaction(scene, lane)
  }
  await Promise.all(silences)
  for (const opened of [proxy, quietProxy, provider]) opened.close()
  await gateway.stop(tally)
}

function idOf(family, lane, suffix) {
  return [family, lane.name, ...(suffix ? [suffix] : [])].join('-')
}

async function driveLane(scene, lane) {
  await cases.worksAndResumes(scene, { ...lane, id: idOf('gpt-5.5', lane) })
  // "Responses lite": no tools but an item that brings them, and one tool that runs programs.
  await cases.worksAndResumes(scene, { ...lane, id: idOf('gpt-6-sol', lane), dialect: `${lane.dialect}, lite` })
  await cases.triesOneUpgrade(scene, { ...lane, id: idOf('gpt-5.5', lane) })
}

async function driveEfforts(scene, lane) {
  for (const { family, suffix, ...more } of EFFORT_CASES) {
    await cases.requestsEffort(scene, lane, { ...more, id: idOf(family, lane, suffix), model: idOf(family, lane) })
  }
}

async function driveCompaction(scene, lane) {
  const known = { ...lane, id: idOf('fast-coder', lane) }
  await cases.compactsByTrigger(scene, known)
  await cases.compactsByItself(scene, known)
}

function silence(scene, lane) {
  return cases.survivesSilence(scene, { ...lane, id: idOf('fast-coder', lane) }, options['silence-ms'])
}

function configFor(url) {
  const patience = `${Math.ceil(options['silence-ms'] / 1000) + 60}s`
  return {
    upstreams: LANES.map(({ name, wire, dialect }) => ({
      ...{ id: `to-${name}`, wire, dialect, base_url: `${url}/v1`, api_key: 'scripted-key', allow_private: true },
      // As an operator has it before a model that thinks for long.
      timeouts: { first_byte: patience, idle: patience, no_progress: patience },
    })),
    models: FAMILIES.flatMap((family) =>
      LANES.map((lane) => ({
        ...{ id: idOf(family, lane), efforts: EFFORTS, context_tokens: CONTEXT_TOKENS, max_output_tokens: 32_000 },
        price: { input: '1.00', cached_input: '0.10', cache_write: '1.25', output: '5.00' },
        lanes: [{ upstream: `to-${lane.name}`, model: idOf(family, lane) }],
      })),
    ),
  }
}
