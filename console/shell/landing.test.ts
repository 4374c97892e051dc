import { expect, it } from 'vitest'
import { landingOf } from './landing.ts'

it.each(['/keys', '/requests/req_1', '/usage?by=key&step=day'])('%s is a valid landing page', (next) => {
  expect(landingOf({ next })).toEqual({ next })
})

it('the base path is removed', () => {
  expect(landingOf({ next: '/console/keys' })).toEqual({ next: '/keys' })
})

it.each([
  'https://evil.example',
  '//evil.example',
  '/\\evil.example',
  '/console//evil.example',
  'javascript:alert(1)',
  '',
  '/',
  '/sign-in',
  7,
  undefined,
])('%s is not', (next) => {
  expect(landingOf({ next })).toEqual({})
})
