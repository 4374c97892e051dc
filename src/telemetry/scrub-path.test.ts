import { expect, it } from 'vitest'
import { scrubPath } from './scrub-path.ts'

it.each([
  'MR-7K3QX-9ZB2M-4TN8C-HWV5D-R6EYG',
  'MR7K3QX9ZB2M4TN8CHWV5DR6EYG',
  'mr7k3qx9zb2m4tn8chwv5dr6eyg',
  '7K3QX-9ZB2M-4TN8C-HWV5D-R6EYG',
  'MR%207K3QX%209ZB2M%204TN8C%20HWV5D%20R6EYG',
  'MR%E2%80%937K3QX%E2%80%939ZB2M%E2%80%934TN8C%E2%80%93HWV5D%E2%80%93R6EYG',
])('a redemption code is hidden, however it is written: %s', (code) => {
  expect(scrubPath(`/console/api/operate/codes/${code}/withdraw`)).not.toMatch(/7k3qx/i)
})

it('our own ids and the names of models stay', () => {
  const path = '/v1/models/a-rather-long-name-of-a-model-2026/req_01k5c6v8x0q2r4t6y8z0a2b4c6'
  expect(scrubPath(path)).toBe(path)
})

it('what only stands between letters is no code', () => {
  const path = `/${'-'.repeat(2000)}/${'a-'.repeat(480)}`
  expect(scrubPath(path)).toBe(path)
})
