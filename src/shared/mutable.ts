/** An object whose members are set one by one while it is built; from then on it is read only. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] }
