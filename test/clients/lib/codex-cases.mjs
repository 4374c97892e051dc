import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCodex } from './codex-cli.mjs'
import { CROWDED, PAUSED, SILENT, WORDS } from './scripted-model.mjs'

/** Shorter than the silence it is given: only our signs of life keep it from giving up. */
const IDLE = ['stream_idle_timeout_ms = 20000']

/** What each case is handed: `says` names it, `check` counts it, `open` is a Codex at the door of the gateway. */
const contextOf = (scene, lane) => ({
  check: (passed, text) => scene.tally.check(passed, `Codex over ${lane.wire} (${lane.dialect}) ${text}`),
  open: (more) =>
    openCodex({ binary: scene.binary, baseUrl: scene.proxy.url, key: scene.key, model: lane.id, ...more }),
  requests: (model) => scene.provider.requestsFor(model ?? lane.id),
  ...scene,
})

/** One turn runs a command and patches a file, another resumes it. */
export async function worksAndResumes(scene, lane) {
  const { check, open, requests } = contextOf(scene, lane)
  const codex = open()
  const worked = await codex.sendTurn('Grind it, and write down how.')
  check(worked.code === 0, `ends its turn (${worked.code} ${worked.failed ?? ''})`)
  check(worked.stdout.includes(`${WORDS.done} after 2 outputs`), 'hands two outputs back')
  check(worked.stdout.includes(WORDS.stageContext), 'has run the command')
  const written = readIfThere(join(codex.workspace, WORDS.file))
  check(written === `${WORDS.patched}\n`, `has patched the file: ${written.trim()}`)
  const { credits } = codex.rateLimits() ?? {}
  check(Number(credits?.balance) > 0 && credits.unlimited === false, `reads its balance (${credits?.balance})`)
  const resumed = await codex.resume('What was it?')
  const again = resumed.code === 0 && resumed.stdout.includes(`${WORDS.done} after 2 outputs`)
  check(again, `resumes with all that was before ${resumed.failed ?? ''}`)
  const kinds = new Set(toolsOf(requests().at(-1)).map(({ type }) => type))
  check(kinds.has('custom') === lane.custom, `is told as ${[...kinds].join(' and ')}`)
  codex.close()
}

const readIfThere = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : 'nothing')

const toolsOf = ({ tools = [], input = [] }) =>
  [...tools, ...(Array.isArray(input) ? input.flatMap((item) => item.tools ?? []) : [])].flatMap(
    (tool) => tool.tools ?? [tool],
  )

/** A model that says nothing for longer than Codex waits, before its first word or behind it. */
export async function survivesSilence(scene, lane, ms) {
  const { check, open } = contextOf(scene, lane)
  const seconds = `${ms / 1000} s of silence`
  const sendTurn = async (prompt, where) => {
    const codex = open({ provider: IDLE })
    const { code, emitted, failed } = await codex.sendTurn(prompt, ms + 60_000)
    check(
      code === 0 && emitted.join().includes(`${WORDS.done} at last`),
      `waits through ${seconds} ${where} ${failed ?? ''}`,
    )
    codex.close()
  }
  await Promise.all([sendTurn(SILENT(ms), 'before the first word'), sendTurn(PAUSED(ms), 'in the middle')])
}

/** Its own provider, pointed at us: a WebSocket is tried once, refused, and never again in the turn. */
export async function triesOneUpgrade(scene, lane) {
  const { check, open, proxy } = contextOf(scene, lane)
  const codex = open({ builtIn: true })
  const before = { turns: proxy.turns.length, upgrades: proxy.upgrades.length }
  const { code, warned } = await codex.sendTurn('Grind it, and write down how.')
  const upgrades = proxy.upgrades.slice(before.upgrades)
  const turns = proxy.turns.slice(before.turns)
  check(
    upgrades.length === 1 && upgrades[0].status === 426,
    `tries ${upgrades.length} upgrade, told ${upgrades[0]?.status}`,
  )
  const posted = turns.length === 3 && turns.every(({ status }) => status === 200)
  check(
    code === 0 && posted,
    `goes on with ${turns.length} POSTs ${warned.filter((text) => /websocket|reconnect/i.test(text))}`,
  )
  codex.close()
}

/** Its own provider asks us to make the conversation short; the command's output is only in what we made of it. */
export async function compactsByTrigger(scene, lane) {
  const settings = ['model_auto_compact_token_limit = 5000']
  await compacts(scene, lane, { builtIn: true, settings, crowded: 6000, how: 'by trigger' })
}

/** An entry of one's own makes it ask for a summary itself: at nine tenths of the context that our list told it. */
export async function compactsByItself(scene, lane) {
  const provider = [`model_catalog_url = "${scene.proxy.url}/models"`]
  const crowded = Math.ceil(scene.contextTokens * 0.9)
  await compacts(scene, lane, { provider, crowded, how: 'by itself, where the list says' })
}

async function compacts(scene, lane, { crowded, how, ...more }) {
  const { check, open, proxy } = contextOf(scene, lane)
  const codex = open(more)
  const before = proxy.turns.length
  const worked = await codex.sendTurn(CROWDED(crowded))
  const turns = proxy.turns.slice(before).map(({ body }) => JSON.parse(body))
  const triggers = turns.filter(({ input }) => input.at(-1).type === 'compaction_trigger').length
  const summaries = turns.filter(
    ({ tools = [], input }) => tools.length === 0 && input.at(-1).type === 'message',
  ).length
  const asExpected = more.builtIn ? triggers === 1 : triggers === 0 && summaries === 1
  check(asExpected, `compacts ${how}: ${triggers} triggers, ${summaries} summaries of its own`)
  const remembered = `${WORDS.done} as remembered: ${WORDS.stageContext}`
  check(
    worked.code === 0 && worked.emitted.join().includes(remembered),
    `goes on with what was before it ${worked.failed ?? ''}`,
  )
  const resumed = await codex.resume('What was it?')
  check(resumed.emitted.join().includes(remembered), `knows it after a resume too ${resumed.failed ?? ''}`)
  codex.close()
}

/** Which effort the provider is asked for, or with which words the turn is refused. */
export async function requestsEffort(scene, lane, { id, model, list, set, effort, refused }) {
  const { check, open, requests, proxy } = contextOf(scene, { ...lane, id })
  const codex = open({
    provider: list ? [`model_catalog_url = "${proxy.url}/models"`] : [],
    settings: set === undefined ? [] : [`model_reasoning_effort = "${set}"`],
  })
  const before = requests(model).length
  const { code, failed } = await codex.sendTurn('Grind it.')
  const receivedRequest = requests(model).slice(before).map(effortOf)
  const how = `${id} ${list ? 'with' : 'without'} the list${set === undefined ? '' : `, effort set to ${set}`}`
  if (refused)
    check(
      code === 1 && receivedRequest.length === 0 && refused.test(failed),
      `${how}: refused with the cure: ${failed}`,
    )
  else
    check(
      code === 0 && receivedRequest.length > 0 && receivedRequest.every((one) => one === effort),
      `${how}: ${receivedRequest[0] ?? failed ?? 'none'}`,
    )
  codex.close()
}

const effortOf = ({ reasoning_effort, reasoning }) => reasoning_effort ?? reasoning?.effort
