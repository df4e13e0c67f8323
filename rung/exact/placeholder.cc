namespace rung {}
