import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runToEnd } from '../../acceptance/own-processes.mjs'
import { CODEX_PACKAGE } from './codex-cli.mjs'

export const MODEL = 'agent'
const CACHE = fileURLToPath(new URL('../../../.cache/clients/', import.meta.url))
const INSTALL_MS_MAX = 240_000

const ONE_MODEL = { name: MODEL, tool_call: true, limit: { context: 128_000, output: 8192 } }

/**
 * Each agent as its documentation configures it for a server of one's own, and otherwise with its default settings. `bin`: the file to
 * run, by Node unless `native`; `files`: what it finds in its home and its workspace; `source`: a program that uses an SDK.
 */
export const AGENTS = {
  codex: {
    ...{ packages: [CODEX_PACKAGE] },
    bin: '@openai/codex/bin/codex.js',
    files: ({ baseUrl }) => ({
      'home/.codex/config.toml': [
        ...['model_provider = "mill"', 'check_for_update_on_startup = false', '[analytics]', 'enabled = false'],
        ...['[model_providers.mill]', 'name = "Mill"', `base_url = "${baseUrl}"`, 'env_key = "MILL_KEY"'],
        'wire_api = "responses"',
      ].join('\n'),
    }),
    args: (prompt) => [
      'exec',
      '--skip-git-repo-check',
      '-m',
      MODEL,
      '--dangerously-bypass-approvals-and-sandbox',
      prompt,
    ],
  },
  opencode: {
    ...{ packages: ['opencode-ai@1.18.33'], native: true },
    bin: `opencode-${process.platform}-${process.arch}/bin/opencode`,
    files: ({ baseUrl, key }) => ({
      'workspace/opencode.json': JSON.stringify({
        ...{ autoupdate: false, share: 'disabled', permission: { bash: 'allow', edit: 'allow' } },
        ...{ model: `mill/${MODEL}`, small_model: `mill/${MODEL}` },
        provider: {
          mill: {
            ...{ npm: '@ai-sdk/openai-compatible', name: 'Mill', options: { baseURL: baseUrl, apiKey: key } },
            models: { [MODEL]: ONE_MODEL },
          },
        },
      }),
    }),
    args: (prompt) => ['run', '-m', `mill/${MODEL}`, prompt],
    env: { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' },
  },
  pi: {
    ...{ packages: ['@earendil-works/pi-coding-agent@1.6.0'] },
    bin: '@earendil-works/pi-coding-agent/dist/bundle/cli.js',
    files: ({ baseUrl, key }) => ({
      'home/.pi/agent/models.json': JSON.stringify({
        providers: { mill: { baseUrl, api: 'openai-completions', apiKey: key, models: [{ id: MODEL }] } },
      }),
    }),
    args: (prompt) => ['--offline', '-p', '--provider', 'mill', '--model', MODEL, prompt],
  },
  cline: {
    ...{ packages: ['cline@3.0.65'] },
    bin: 'cline/bin/cline',
    files: ({ baseUrl, key }) => ({
      'home/.cline/data/settings/providers.json': JSON.stringify({
        ...{ version: 1, lastUsedProvider: 'openai-compatible', modes: {} },
        providers: {
          'openai-compatible': {
            settings: { provider: 'openai-compatible', apiKey: key, model: MODEL, baseUrl },
            ...{ updatedAt: '2026-11-28T00:00:00.000Z', tokenSource: 'manual' },
          },
        },
      }),
    }),
    args: (prompt) => ['-P', 'openai-compatible', '-m', MODEL, prompt],
  },
  'qwen-code': {
    ...{ packages: ['@qwen-code/qwen-code@0.24.4'] },
    bin: '@qwen-code/qwen-code/cli-entry.js',
    files: () => ({
      'home/.qwen/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'openai' } },
        telemetry: { enabled: false },
      }),
    }),
    args: (prompt, { baseUrl, key }) => [
      ...['--openai-base-url', baseUrl, '--openai-api-key', key, '-m', MODEL],
      ...['--approval-mode', 'yolo', prompt],
    ],
  },
  continue: {
    ...{ packages: ['@continuedev/cli@1.5.47'] },
    bin: '@continuedev/cli/dist/cn.js',
    files: ({ baseUrl, key }) => ({
      'home/mill.yaml': JSON.stringify({
        ...{ name: 'Mill', version: '1.0.0', schema: 'v1' },
        models: [{ name: MODEL, provider: 'openai', model: MODEL, apiBase: baseUrl, apiKey: key, roles: ['chat'] }],
      }),
    }),
    args: (prompt, { place }) => ['--config', join(place, 'home', 'mill.yaml'), '--auto', '-p', prompt],
    env: { CONTINUE_TELEMETRY_ENABLED: '0' },
  },
  'ai-sdk': {
    ...{ packages: ['ai@7.0.173', '@ai-sdk/openai@4.0.118', 'zod@4.6.7'] },
    source: `import { streamText } from 'ai'; import { createOpenAI } from '@ai-sdk/openai'
      const cancel = new AbortController(); process.once('SIGINT', () => cancel.abort())
      const [baseURL, apiKey, prompt] = process.argv.slice(-3); let failed
      const { fullStream } = streamText({ model: createOpenAI({ baseURL, apiKey })('${MODEL}'), prompt, abortSignal: cancel.signal, onError: ({ error }) => { failed = error } })
      for await (const part of fullStream) if (part.type === 'text-delta') process.stdout.write(part.text)
      if (failed) { console.error(failed); process.exit(1) }`,
  },
  'openai-node': {
    ...{ packages: ['openai@7.59.0'] },
    source: `import OpenAI from 'openai'
      const [baseURL, apiKey, prompt] = process.argv.slice(-3)
      const stream = await new OpenAI({ baseURL, apiKey }).chat.completions.create({ model: '${MODEL}', stream: true, messages: [{ role: 'user', content: prompt }] })
      process.once('SIGINT', () => stream.controller.abort())
      for await (const { choices } of stream) process.stdout.write(choices[0]?.delta?.content ?? '')`,
  },
  'openai-python': {
    ...{ python: 'openai==3.22.1' },
    source: `import sys, openai
base_url, api_key, prompt = sys.argv[-3:]
stream = openai.OpenAI(base_url=base_url, api_key=api_key).chat.completions.create(model='${MODEL}', stream=True, messages=[{'role': 'user', 'content': prompt}])
for chunk in stream:
    if chunk.choices: sys.stdout.write(chunk.choices[0].delta.content or '')`,
  },
}

/** The command of an agent and its first arguments; undefined, and said so in one line, where it cannot be installed. */
export async function installAgent(name, { node, installed }) {
  const folder = join(installed === '' ? CACHE : installed, name)
  const found = findAgent(AGENTS[name], folder, node)
  if (found !== undefined) return found
  mkdirSync(folder, { recursive: true })
  const { packages = [], python } = AGENTS[name]
  const npm = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', ...packages]
  const venv = `python3 -m venv . && PIP_RETRIES=0 bin/pip install -q ${python}`
  const [command, args] = python ? ['bash', ['-c', venv]] : ['npm', npm]
  const env = { PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
  const { code, stderr } = await runToEnd(command, args, { cwd: folder, env, withinMs: INSTALL_MS_MAX })
  const installedNow = code === 0 ? findAgent(AGENTS[name], folder, node) : undefined
  if (installedNow === undefined)
    console.log(`not run: ${name} could not be installed (${stderr.trim().split('\n').at(-1)})`)
  return installedNow
}

function findAgent({ python, source, native, bin, packages }, folder, node) {
  if (python) {
    const info = `${python.replace('==', '-')}.dist-info`
    const libraries = existsSync(join(folder, 'lib')) ? readdirSync(join(folder, 'lib')) : []
    const isThere = libraries.some((library) => existsSync(join(folder, 'lib', library, 'site-packages', info)))
    return isThere ? { command: join(folder, 'bin', 'python'), first: ['-c', source] } : undefined
  }
  const modules = join(folder, 'node_modules')
  if (!packages.every((name) => isInstalled(modules, name))) return undefined
  if (source) return { command: node, first: ['--input-type=module', '-e', source, '--'], cwd: folder }
  const path = join(modules, bin)
  return native ? { command: path, first: [] } : { command: node, first: [path] }
}

function isInstalled(modules, name) {
  const at = name.lastIndexOf('@')
  const path = join(modules, name.slice(0, at), 'package.json')
  return existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).version === name.slice(at + 1)
}

/** Cline starts a daemon in a group of its own, which outlives it and goes on writing. It is known by its home, which no other process has. */
function endRest(home) {
  for (const id of existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []) {
    try {
      if (readFileSync(`/proc/${id}/environ`, 'utf8').split('\0').includes(`HOME=${home}`))
        process.kill(Number(id), 'SIGKILL')
    } catch {
      // It has ended, or belongs to another user.
    }
  }
}

/**
 * Starts an agent on one prompt, with a home and a workspace of its own and in a group of its own, so that a signal reaches all of it
 * as Ctrl-C in a terminal does.
 */
export function startAgent(name, { found, node, baseUrl, key, prompt, withinMs }) {
  const { files, args, env = {} } = AGENTS[name]
  const place = mkdtempSync(join(tmpdir(), `millrace-${name}-`))
  const [home, workspace] = [join(place, 'home'), join(place, 'workspace')]
  for (const folder of [home, workspace]) mkdirSync(folder)
  spawnSync('git', ['init', '-q', workspace])
  for (const [path, text] of Object.entries(files?.({ baseUrl, key }) ?? {})) {
    mkdirSync(dirname(join(place, path)), { recursive: true })
    writeFileSync(join(place, path), text)
  }
  const words = args?.(prompt, { baseUrl, key, place }) ?? [baseUrl, key, prompt]
  const child = spawn(found.command, [...found.first, ...words], {
    ...{ cwd: found.cwd ?? workspace, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
    env: {
      ...{
        PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
        HOME: home,
        TERM: 'dumb',
        NO_COLOR: '1',
        LANG: 'C.UTF-8',
      },
      ...{ MILL_KEY: key, ...env },
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const signal = (which) => {
    try {
      process.kill(-child.pid, which)
    } catch {
      // It has ended by itself.
    }
  }
  const endAtExit = () => signal('SIGKILL')
  process.on('exit', endAtExit)
  const timer = setTimeout(signal, withinMs, 'SIGKILL')
  const ended = new Promise((resolve) => child.once('close', (code) => resolve(code))).then((code) => {
    clearTimeout(timer)
    process.off('exit', endAtExit)
    signal('SIGKILL')
    endRest(home)
    rmSync(place, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
    return { code, output }
  })
  return { signal, ended }
}
