import { createContext, useContext } from 'react'

/** Menus and hints hang on the page, or on the dialog that they are in: behind an open dialog nobody could reach them. */
export const LayerContext = createContext<HTMLElement | null>(null)
export const useLayer = (): HTMLElement | null => useContext(LayerContext)
