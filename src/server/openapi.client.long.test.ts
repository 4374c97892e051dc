import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import openapiTypescript from 'openapi-typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openApiDocument } from './openapi.ts'

const CLIENT = `
import type { paths } from './openapi.js'

type Answer<Operation> = Operation extends { responses: { 200: { content: { 'application/json': infer Body } } } } ? Body : never
type Sent<Operation> = Operation extends { requestBody: { content: { 'application/json': infer Body } } } ? Body : never

export const created: Sent<paths['/admin/v1/keys']['post']> = { account: 'ann@example.com', kind: 'wallet', name: 'CI', caps: { day: '5.00' } }
export const chat: Sent<paths['/v1/chat/completions']['post']> = { model: 'demo', messages: [], temperature: 1 }
export const query: paths['/admin/v1/accounts']['get']['parameters']['query'] = { limit: 10, search: 'ann' }
export const secretOf = (answer: Answer<paths['/admin/v1/keys']['post']>): string => answer.secret
export const balanceOf = (account: Answer<paths['/admin/v1/accounts/{account}']['get']>): string | undefined => account.wallet?.balance
`

describe('a client that is generated from openapi.json', () => {
  let folder: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-openapi-'))
    writeFileSync(join(folder, 'openapi.d.ts'), await openapiTypescript(JSON.parse(JSON.stringify(openApiDocument()))))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** What the compiler says about a program. */
  async function complaintsAbout(program: string): Promise<string> {
    writeFileSync(join(folder, 'client.ts'), program)
    const flags = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--types', '']
    const args = [resolve('node_modules', 'typescript', 'bin', 'tsc'), ...flags, 'client.ts']
    return promisify(execFile)(process.execPath, args, { cwd: folder }).then(
      () => '',
      (error: { stdout: string; message: string }) => error.stdout || error.message,
    )
  }

  it('compiles', async () => {
    expect(await complaintsAbout(CLIENT)).toBe('')
  })

  it('refuses a field that does not exist', async () => {
    expect(await complaintsAbout(CLIENT.replace("name: 'CI'", "title: 'CI'"))).toMatch(/title/)
    expect(await complaintsAbout(CLIENT.replace("kind: 'wallet'", "kind: 'purse'"))).toMatch(/purse/)
  })
})
