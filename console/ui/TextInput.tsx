import type { ComponentProps } from 'react'
import { cx } from '../lib/cx.ts'
import { controlClass } from './control-class.ts'

export const TextInput = ({ className, ...rest }: ComponentProps<'input'>) => (
  <input type="text" autoComplete="off" {...rest} className={cx(controlClass, className)} />
)
