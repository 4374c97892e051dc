import { expect, it } from 'vitest'
import { isLoopback, isLoopbackName, urlOf } from './network.ts'

it('knows which addresses only this machine can reach', () => {
  expect(['127.0.0.1', '127.8.4.2', '::1', 'localhost'].map(isLoopback)).toEqual([true, true, true, true])
  expect(['0.0.0.0', '::', '10.0.0.7', '127.example.com', 'example.com'].map(isLoopback)).toEqual(Array(5).fill(false))
})

it('knows which names in a URL no name server can have point elsewhere', () => {
  expect(['localhost', 'a.localhost', '[::1]', '127.8.4.2'].filter(isLoopbackName)).toHaveLength(4)
  expect(['127.0.0.1.evil.example', 'localhost.evil.example', '[::2]', ''].filter(isLoopbackName)).toEqual([])
})

it('says where a person reaches it', () => {
  expect(urlOf('0.0.0.0', 4600)).toBe('http://127.0.0.1:4600')
  expect(urlOf('::', 4600)).toBe('http://[::1]:4600')
  expect(urlOf('fe80::1', 80)).toBe('http://[fe80::1]:80')
  expect(urlOf('localhost', 4600)).toBe('http://localhost:4600')
})
