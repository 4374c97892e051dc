import { describe, expect, it } from 'vitest'
import { get } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

describe('GET /v1/models answers', () => {
  const server = useServer()

  it('with every model for this kind of key and its effort variants, in configuration order', async () => {
    const account = await openAccount(server())
    const { status, json } = await get(server(), account, '/models')
    expect(status).toBe(200)
    expect(json.object).toBe('list')
    expect(json.data.map((entry: { id: string }) => entry.id)).toEqual([
      'swift',
      'swift-low',
      'swift-medium',
      'swift-high',
      'calm',
      'calm-low',
      'calm-medium',
      'calm-high',
      'paid',
      'vendor/slashed',
      'trap-high',
      'wallet-only',
    ])
    for (const entry of json.data) {
      expect(entry).toMatchObject({
        object: 'model',
        owned_by: 'millrace',
        context_length: 128_000,
        input_modalities: ['text'],
      })
      expect(Number.isInteger(entry.created)).toBe(true)
    }
  })

  it('with one model by id, with plain or encoded slashes', async () => {
    const account = await openAccount(server())
    for (const path of ['vendor/slashed', 'vendor%2Fslashed', 'swift-low', 'swift%2dlow']) {
      const { status, json } = await get(server(), account, `/models/${path}`)
      expect(status).toBe(200)
      expect(json.id).toBe(decodeURIComponent(path))
    }
  })

  it('with the efforts of each entry', async () => {
    const account = await openAccount(server())
    const efforts = async (id: string) =>
      (await get(server(), account, `/models/${id}`)).json.supported_reasoning_efforts
    expect(await efforts('swift')).toEqual(['low', 'medium', 'high'])
    expect(await efforts('swift-low')).toEqual(['low'])
    expect(await efforts('vendor/slashed')).toEqual([])
    expect(await efforts('trap-high')).toBe(undefined)
  })

  it('to Codex, with model descriptions in its own format', async () => {
    const account = await openAccount(server())
    const plain = (await get(server(), account, '/models')).json
    const { status, json } = await get(server(), account, '/models?client_version=0.169.0')
    expect(status).toBe(200)
    expect(plain).not.toHaveProperty('models')
    expect(json.data).toEqual(plain.data)
    expect(json.models.map((entry: { slug: string }) => entry.slug)).toEqual(
      plain.data.map((entry: { id: string }) => entry.id),
    )
    expect(json.models[0]).toMatchObject({ slug: 'swift', context_window: 128_000, priority: 0 })
    expect(json.models[1]).toMatchObject({ slug: 'swift-low', default_reasoning_level: 'low' })
  })

  it('to an empty wallet, without counting against limits', async () => {
    const account = await openAccount(server(), { credit: '0' })
    const made = await account.createKey({ limits: { requests_per_minute: 1 } })
    for (let turn = 0; turn < 3; turn++) {
      const answer = await get(server(), made, '/models')
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('1')
    }
  })

  it('to HEAD with the same headers and no body', async () => {
    const account = await openAccount(server())
    const headers = { authorization: `Bearer ${account.key}` }
    const head = await fetch(`${server().baseUrl}/models`, { method: 'HEAD', headers })
    const whole = await fetch(`${server().baseUrl}/models`, { headers })
    expect(head.status).toBe(200)
    expect(head.headers.get('content-length')).toBe(String((await whole.arrayBuffer()).byteLength))
    expect(await head.text()).toBe('')
  })
})
