import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runToEnd } from '../../acceptance/own-processes.mjs'

const CODEX_MS_MAX = 60_000

export const CODEX_PACKAGE = '@openai/codex@0.171.0'
const CACHE = fileURLToPath(new URL('../../../.cache/clients/', import.meta.url))

/**
 * The program: of `installed`, a folder as `run.mjs` makes it, or of our own cache, where the registry is asked for it once.
 * Undefined, and said so, where it cannot be had.
 */
export async function installCodex(installed) {
  const found = findCodex(installed === '' ? CACHE : installed)
  if (found !== undefined) return found
  const folder = join(CACHE, 'codex')
  mkdirSync(folder, { recursive: true })
  const wanted = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', CODEX_PACKAGE]
  const { code, stderr } = await runToEnd('npm', wanted, { cwd: folder, withinMs: 180_000 })
  if (code !== 0) console.log(`Not run: ${CODEX_PACKAGE} could not be installed.\n${stderr.trim()}`)
  return findCodex(CACHE)
}

function findCodex(folderOfClients) {
  const folder = join(folderOfClients, 'codex', 'node_modules', '@openai')
  if (!existsSync(folder)) return undefined
  const found = readdirSync(folder, { withFileTypes: true, recursive: true }).find(
    (entry) => entry.isFile() && entry.name === 'codex' && entry.parentPath.endsWith('bin'),
  )
  return found && join(found.parentPath, found.name)
}

/**
 * Codex with a home and a workspace of its own. `provider`: lines of the provider's entry, `settings`: lines above it,
 * `builtIn`: its own provider, pointed at us, instead of an entry.
 */
export function openCodex({ binary, baseUrl, key, model, provider = [], settings = [], builtIn = false }) {
  const place = mkdtempSync(join(tmpdir(), 'millrace-codex-'))
  const [home, workspace] = [join(place, 'home'), join(place, 'workspace')]
  mkdirSync(join(home, '.codex'), { recursive: true })
  mkdirSync(workspace)
  const quiet = ['check_for_update_on_startup = false', ...settings, '[analytics]', 'enabled = false']
  const own = [`openai_base_url = "${baseUrl}"`, ...quiet]
  const entry = ['[model_providers.mill]', 'name = "Millrace"', `base_url = "${baseUrl}"`, 'env_key = "MILL_KEY"']
  const custom = ['model_provider = "mill"', ...quiet, ...entry, 'wire_api = "responses"', ...provider]
  writeFileSync(join(home, '.codex', 'config.toml'), `${(builtIn ? own : custom).join('\n')}\n`)
  const env = {
    HOME: home,
    CODEX_HOME: join(home, '.codex'),
    [builtIn ? 'CODEX_API_KEY' : 'MILL_KEY']: key,
    NO_COLOR: '1',
  }
  const always = ['--skip-git-repo-check', '-m', model, '--json', '--dangerously-bypass-approvals-and-sandbox']
  const run = async (words, withinMs) => {
    const began = performance.now()
    const ended = await runToEnd(binary, ['exec', ...words], { cwd: workspace, withinMs, env })
    return { ...ended, ...readEvents(ended.stdout), ms: Math.round(performance.now() - began) }
  }
  return {
    workspace,
    sendTurn: (prompt, withinMs = CODEX_MS_MAX) => run([...always, prompt], withinMs),
    resume: (prompt, withinMs = CODEX_MS_MAX) => run(['resume', '--last', ...always, prompt], withinMs),
    /** What it has last read of its limits. */
    rateLimits: () => lastOf(readSessions(join(home, '.codex', 'sessions')), 'rate_limits'),
    close: () => rmSync(place, { recursive: true, force: true, maxRetries: 10 }),
  }
}

function readSessions(folder) {
  const files = existsSync(folder) ? readdirSync(folder, { withFileTypes: true, recursive: true }) : []
  return files
    .filter((entry) => entry.isFile())
    .flatMap(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8').split('\n'))
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
}

const lastOf = (records, name) => records.findLast(({ payload }) => payload?.[name])?.payload[name]

/** What its user sees: the words of the model, and the errors. */
function readEvents(stdout) {
  const events = stdout.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line)]
    } catch {
      return []
    }
  })
  const items = events.flatMap(({ type, item }) => (type === 'item.completed' ? [item] : []))
  return {
    emitted: items.flatMap(({ type, text }) => (type === 'agent_message' ? [text] : [])),
    warned: items.flatMap(({ type, message }) => (type === 'error' ? [message] : [])),
    failed: events.find(({ type }) => type === 'turn.failed')?.error?.message,
  }
}
