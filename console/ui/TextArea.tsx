import type { ComponentProps } from 'react'
import { cx } from '../lib/cx.ts'
import { controlClass } from './control-class.ts'

export const TextArea = ({ className, ...rest }: ComponentProps<'textarea'>) => (
  <textarea rows={3} {...rest} className={cx(controlClass, 'leading-normal', className)} />
)
