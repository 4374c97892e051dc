import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadSettings } from '../config/load-config.ts'
import { systemClock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import { createUpstreams } from './upstreams.ts'

let folder: string
let data: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-ask-'))
  data = join(folder, 'data')
  await mkdir(data)
  await writeFile(join(folder, 'millrace.yaml'), withUpstream('here'))
  await writeFile(join(folder, 'other.yaml'), withUpstream('other'))
})
afterEach(() => rm(folder, { recursive: true }))

const withUpstream = (id: string) => `upstreams: [{ id: ${id}, wire: demo }]\nmodels: []\n`

/** Which upstreams a command in the folder names, and by which file. */
async function listed(config?: string) {
  const context = { cwd: folder, environment: { HOME: folder } }
  const upstreams = createUpstreams({
    ...{ clock: systemClock, random: secureRandom },
    loadSettings: (flags) => loadSettings(context, flags),
  })
  const answer = await upstreams.list({ config, data })
  return answer.kind === 'invalid' ? answer.message : { ids: answer.value.map(({ id }) => id), ...answer.used }
}

const runServerWith = (config: string | null | undefined, pid = process.pid) =>
  writeFile(join(data, 'server.json'), JSON.stringify({ pid, url: null, version: '1', socket: 'none', config }))

describe('the configuration that upstreams are called with', () => {
  it('is that of the command where no server runs, or one that does not say', async () => {
    const own = { ids: ['here'], path: join(folder, 'millrace.yaml'), serverPid: null }
    expect(await listed()).toEqual(own)
    await runServerWith(join(folder, 'other.yaml'), 2 ** 22 + 1)
    expect(await listed()).toEqual(own)
    await runServerWith(undefined)
    expect(await listed()).toEqual(own)
  })

  it('is that of the running server, also where it has none', async () => {
    await runServerWith(join(folder, 'other.yaml'))
    expect(await listed()).toEqual({ ids: ['other'], path: join(folder, 'other.yaml'), serverPid: process.pid })
    await runServerWith(null)
    expect(await listed()).toEqual({ ids: ['demo'], path: null, serverPid: process.pid })
  })

  it('is the one that --config names', async () => {
    await runServerWith(null)
    expect(await listed('other.yaml')).toMatchObject({ ids: ['other'], serverPid: null })
  })

  it('names its server when it cannot be read here', async () => {
    const path = join(folder, 'other.yaml')
    await writeFile(
      path,
      `upstreams: [{ id: far, wire: chat, base_url: "https://x.example/v1", api_key: "\${ONLY_THERE}" }]\n`,
    )
    await runServerWith(path)
    const message = await listed()
    expect(message).toContain(`The running server (pid ${process.pid}) uses ${path}, which cannot be read here:\n`)
    expect(message).toMatch(/ONLY_THERE[\s\S]*set the variables here that only the server has/)
  })
})
