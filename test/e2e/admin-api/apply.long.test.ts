import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { chat, useProgram } from '../../fixtures/app/use-program.ts'

const program = useProgram()

const PEOPLE = 30

const CONFIG = `upstreams: [{ id: demo, wire: demo }]
models:
  - { id: demo, context_tokens: 1000, max_output_tokens: 100, price: { input: "0.1", output: "0.4" }, lanes: [{ upstream: demo, model: demo-fast }] }
plans: [{ id: pro, models: [demo], windows: [{ every: month, allowance: "5.00" }] }]
`

const accountOf = (_: unknown, at: number): string => `  - email: person-${at}@example.com
    plan: pro
    credit: [{ amount: "10.00", ref: start, reason: start }]
    people: [{ email: person-${at}@example.com }]
    keys:
      - { name: laptop, kind: wallet, models: [demo], caps: { day: "1.00", month: "20.00" } }
      - { name: agent, kind: builder, limits: { requests_per_minute: 60 } }
`

const writeFiles = (): void => {
  writeFileSync(join(program.folder, 'millrace.yaml'), CONFIG)
  writeFileSync(
    join(program.folder, 'accounts.yaml'),
    `accounts:\n${Array.from({ length: PEOPLE }, accountOf).join('')}`,
  )
}

const ofFolder = '--config millrace.yaml --data data'

it('30 people with keys, caps and plans come from one file, and the second time nothing changes', async () => {
  writeFiles()
  const server = await program.serve(...ofFolder.split(' '))
  const before = performance.now()
  const first = await program.millrace(`apply ${ofFolder} -f accounts.yaml --yes --json`)
  // Not asserted: what else runs on the machine would decide.
  console.log(`applied ${PEOPLE} people in ${Math.round(performance.now() - before)} ms`)
  expect(first.code, first.err).toBe(0)
  const { done, secrets, links } = JSON.parse(first.out)
  // An account, its plan, a credit, an invitation and two keys.
  expect([done, secrets.length, links.length]).toEqual([6 * PEOPLE, 2 * PEOPLE, PEOPLE])
  for (const { secret } of secrets.slice(0, 4)) expect((await chat(server.url, secret)).status).toBe(200)
  expect((await program.millrace(`apply ${ofFolder} -f accounts.yaml --yes`)).out).toBe('No change.\n')
  server.child.kill('SIGTERM')
  await server.end
  // Without a server too.
  expect((await program.millrace(`apply ${ofFolder} -f accounts.yaml --yes`)).out).toBe('No change.\n')
  expect(await program.json(`db verify ${ofFolder}`)).toMatchObject({ ok: true })
})

it('an admin key that the command line makes works at the server, until the command line revokes it', async () => {
  writeFiles()
  const { url } = await program.serve(...ofFolder.split(' '))
  const { id, secret } = await program.json(`admin-keys create --name CI --scopes accounts:read ${ofFolder}`)
  const ask = () => fetch(`${url}/admin/v1/accounts`, { headers: { authorization: `Bearer ${secret}` } })
  expect((await ask()).status).toBe(200)
  expect((await program.millrace(`admin-keys revoke ${id} ${ofFolder}`)).out).toMatch(/^Revoked "CI"/)
  expect((await ask()).status).toBe(401)
  const wrong = await program.millrace(`admin-keys create --name CI --scopes everything ${ofFolder}`)
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringMatching(/is not a scope\. Scopes: accounts:read/)])
})
