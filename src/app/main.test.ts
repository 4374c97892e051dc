import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chat, useProgram } from '../../test/fixtures/app/use-program.ts'

const program = useProgram()
const { millrace, json, serve } = program

describe('millrace', () => {
  it('finishes what it has begun before it ends, and takes nothing new', async () => {
    const { child, url, end } = await serve()
    const key = (await readFile(join(program.folder, '.local/share/millrace/first-key'), 'utf8')).trim()
    const answer = await chat(url, key)
    child.kill('SIGINT')
    expect(await answer.text()).toMatch(/data: \[DONE\]\s*$/)
    const { code, err } = await end
    expect(code).toBe(0)
    expect(err).toContain('Stopping: 1 request open, waiting up to 30 s')
    expect(err).toContain('Stopped. 1 request, 0 lost.')
    await expect(chat(url, key)).rejects.toThrow()
  })

  it('prints its versions', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
    expect((await millrace('--version')).out).toBe(`${version}\n`)
    expect(await json('-V')).toMatchObject({ millrace: version, node: process.versions.node })
  })
})
